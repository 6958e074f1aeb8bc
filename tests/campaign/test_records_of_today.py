"""Records that Sophron 0.1.0 wrote in November 2026 are read as they were: every document, and what is said of them."""

import json
import shutil
from pathlib import Path

import pytest

from sophron import cli
from sophron.campaign.execution.outcome_store import AgentAnswer, Outcome, Published
from sophron.campaign.execution.verdict import Verdict
from sophron.records import approvals
from sophron.records.approvals import ApprovalRecord
from sophron.records.typed_json import from_json, to_json

FOLDER = Path(__file__).parents[1] / "data" / "records-2026-11"
"""`sophron status` and `answer` of that day, and in `campaign` the records: three versions, a failed verdict."""


@pytest.fixture
def campaign(tmp_path):
    return Path(shutil.copytree(FOLDER / "campaign", tmp_path / "arithmetic"))


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        (Outcome, "results/**/outcome.json"),
        (Verdict, "results/*/verdict.json"),
        (Published, "records/*/published.json"),
        (ApprovalRecord, "approvals/log/*.json"),
    ],
)
def test_a_record_is_read_and_written_without_loss(kind, pattern):
    paths = list((FOLDER / "campaign").glob(pattern))
    assert paths
    for path in paths:
        plain = json.loads(path.read_text())
        assert to_json(from_json(kind, plain)) == plain


def test_an_answer_of_an_agent_is_read():
    answer = from_json(AgentAnswer, json.loads((FOLDER / "campaign" / "results" / "caveats.json").read_text()))
    assert answer.agent_digest
    assert answer.failure is None
    assert answer.answer["caveats"]


def test_status_says_what_it_said(campaign, capsys):
    assert cli.main(["status", str(campaign)]) == 0
    assert capsys.readouterr().out == (FOLDER / "status.txt").read_text()
    assert cli.main(["status", str(campaign), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((FOLDER / "status.json").read_text())


def test_the_state_is_made_again_from_the_events(campaign, capsys):
    before = (campaign / "workflow-state.json").read_bytes(), (campaign / "progress.log").read_bytes()
    (campaign / "workflow-state.json").unlink()
    (campaign / "progress.log").unlink()
    assert cli.main(["status", str(campaign)]) == 0
    assert ((campaign / "workflow-state.json").read_bytes(), (campaign / "progress.log").read_bytes()) == before


def test_answer_says_what_it_said(campaign, capsys):
    assert cli.main(["answer", str(campaign)]) == 0
    told = [line for line in (FOLDER / "answer.txt").read_text().splitlines() if not line.startswith("report:")]
    assert capsys.readouterr().out.splitlines() == told


def test_the_signed_approvals_are_still_validly_signed(campaign):
    assert approvals.signed_gate(campaign) == approvals.newest(campaign)
    assert approvals.newest(campaign).record.amendment.invalidated_stages == []
