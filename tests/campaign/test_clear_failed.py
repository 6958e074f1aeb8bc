"""A failed outcome cleared on request: what it takes with it, what it refuses, and that the same line then goes on."""

import json

import pytest
import toy

from sophron.campaign.execution import campaign_lock
from sophron.campaign.planning import plan_documents
from sophron.cli import main
from sophron.records.files import FileLock


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    campaign.edit("{factor: 2}", "{factor: 2, breaks_without: engine.txt}")
    campaign.sign()
    plan_documents.record_in_force(campaign.root)
    campaign.run_here("a", "verify-a", "accept-a", "b-0", "b-1", "verify-b")
    return campaign


def retry(campaign, *names):
    return main(["retry", *names, str(campaign.root)])


def state(campaign):
    return json.loads((campaign.root / "workflow-state.json").read_text())


def test_failed_outcomes_of_a_stage_are_kept_and_its_steps_tried_again_afresh(campaign, capsys):
    assert campaign.run_here("accept-b") == 2
    assert "if it was the machine, repair it: sophron retry b" in capsys.readouterr().err
    assert main(["status", str(campaign.root)]) == 0
    assert "sophron retry b" in capsys.readouterr().out
    (scratch,) = campaign.root.glob("scratch/*/b-0")
    (scratch / "restart.1").write_text("of a try that failed")
    (campaign.root / "engine.txt").touch()
    assert retry(campaign, "b") == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"Next, in {campaign.root}: snakemake"
    for step in ("b-0", "b-1"):
        kept = campaign.root / "records" / step / "failed-v1-1"
        assert json.loads((kept / "outcome.json").read_text())["status"] == "failed"
        assert (kept / "numbers.txt").is_file()
    assert not list((campaign.root / "results" / "b").rglob("*.*"))
    assert [one["step"] for one in campaign.events("cleared")] == ["b-0", "b-1"]
    assert (state(campaign)["next_command"], state(campaign)["workflow_status"]) == ("snakemake", "in_progress")
    assert "its failed outcome was cleared" in (campaign.root / "progress.log").read_text()
    assert campaign.run_here("b-0", "b-1", "verify-b", "accept-b") == 0
    assert not list(campaign.root.glob("scratch/*/b-0/restart.1")), "it started afresh"
    assert list(campaign.root.glob("scratch/*/b-0.set-aside-*/restart.1")), "nothing is deleted"
    assert len(list((campaign.root / "approvals" / "log").glob("*.json"))) == 1, "and nothing was signed"


def test_one_step_can_be_cleared_alone(campaign):
    assert retry(campaign, "b-1") == 0
    assert [one["step"] for one in campaign.events("cleared")] == ["b-1"]
    assert (campaign.root / "results" / "b" / "0" / "outcome.json").is_file()
    assert not (campaign.root / "results" / "b" / "verdict.json").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a", "a: no outcome of it is a failed one; if a criterion failed, change what is at fault: sophron amend"),
        ("c", "c: has no outcome to clear; the same line tries it again: snakemake"),
        ("b-7", "there is no stage or step b-7; did you mean b-"),
        ("relax", "there is no stage or step relax; give one of a, b, c"),
        ("b\x1b[2J", "there is no stage or step b\\x1b[2J"),
    ],
)
def test_what_cannot_be_cleared_is_one_sentence(campaign, capsys, name, said):
    assert retry(campaign, name) == 2
    assert said in capsys.readouterr().err
    assert campaign.events("cleared") == []


def test_nothing_is_cleared_while_a_driver_or_a_step_is_at_work(campaign, capsys):
    lock = campaign_lock.driver_lock(campaign.root)
    assert retry(campaign, "b") == 2
    assert "another process works on this campaign" in capsys.readouterr().err
    lock.release()
    with FileLock(campaign.root / campaign_lock.STEPS_LOCK, shared=True):
        assert retry(campaign, "b") == 2
    assert "steps of this campaign are running; wait until they have ended" in capsys.readouterr().err
    assert campaign.events("cleared") == []
