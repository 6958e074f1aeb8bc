"""The journal: whenever a kill comes while an amendment is put into force, the end is the same and nothing is lost."""

import hashlib
import json
import shutil

import pytest
import toy

from sophron.campaign.approval import amendment_draft, approval_journal, approve, invalidation, known_signers
from sophron.campaign.execution import campaign_lock
from sophron.records import approvals, files
from sophron.records.errors import UserError

DURABLE = ("move", "write_json", "write_text", "create_bytes")


class Killed(BaseException):
    """Ends the process at this point, as far as a test can."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished campaign with a drafted amendment that changes definitions, criteria and the number of replicas."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        toy.plan_here(monkeypatch)
        campaign = toy.campaign(tmp_path_factory.mktemp("finished"), monkeypatch)
        campaign.sign()
        campaign.finish_here()
        settings = ["stages.c.definition.replicas=1", "stages.e.criteria.total.statement=Said differently."]
        amendment_draft.draft_amendment(campaign.root, "because", settings)
        yield campaign


def copy_of(finished, folder):
    shutil.copytree(finished.root, folder / "toy", symlinks=True)
    campaign = toy.Campaign(folder / "toy", finished.key)
    known_signers.remember(approvals.signed_gate(campaign.root))
    return campaign


def die_at(monkeypatch, number):
    """Die before durable write `number` of the journal; the number of writes seen is left in the list."""
    seen = []
    for name in DURABLE:
        whole = getattr(files, name)

        def write(*arguments, whole=whole):
            seen.append(arguments)
            if len(seen) == number:
                raise Killed
            whole(*arguments)

        for module in (approval_journal, invalidation):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, write)
    return seen


def state_of(campaign):
    """Everything that must not depend on when a kill came: content by path, without times and nonces."""
    content = {}
    for path in sorted(path for path in campaign.root.rglob("*") if path.is_file()):
        name = str(path.relative_to(campaign.root))
        if name.startswith(("approvals/log/0002.", "approvals/gate", "records/events", ".snakemake")):
            content[name] = "present"
        elif not name.endswith(".lock"):
            content[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return content


def test_a_kill_before_any_write_is_finished_by_the_next_call(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    toy.plan_once(monkeypatch)
    whole = copy_of(finished, tmp_path / "whole")
    with pytest.MonkeyPatch.context() as counting:
        writes = die_at(counting, 0)
        whole.sign()
    wanted = state_of(whole)
    assert len(writes) > 25
    assert "invalidated/v1/results/c/outcome.json" in wanted
    assert "invalidated/v1/results/e/verdict.json" in wanted
    assert "results/e/accepted.json" in wanted
    assert "invalidated/v1/results/b/verdict.json" in wanted  # it judged replicas that are no more
    assert "results/b/1/outcome.json" in wanted
    for number in range(1, len(writes) + 1):
        folder = tmp_path / str(number)
        campaign = copy_of(finished, folder)
        with pytest.MonkeyPatch.context() as killing:
            die_at(killing, number)
            with pytest.raises(Killed):
                campaign.sign()
        if number == 1:  # before the journal: nothing has happened
            assert not approval_journal.finish(campaign.root)
            campaign.sign()
        else:
            assert approval_journal.finish(campaign.root)
        assert not approval_journal.finish(campaign.root)
        assert state_of(campaign) == wanted, number
        assert len(campaign.events("amended")) == 1
        assert len(campaign.events("approved")) == 2
        known_signers.check(approvals.valid_approval(campaign.root))
        shutil.rmtree(folder)


def test_a_second_kill_while_finishing_changes_nothing(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    campaign = copy_of(finished, tmp_path)
    for number in (8, 5, 3, 2):
        with pytest.MonkeyPatch.context() as killing:
            die_at(killing, number)
            with pytest.raises(Killed):
                campaign.sign() if number == 8 else approval_journal.finish(campaign.root)
    assert approval_journal.finish(campaign.root)
    assert campaign.shown() == {"c", "d", "f", "caveats", "report"} | {
        f"{rule}-{stage}" for rule in ("verify", "accept") for stage in "bcdef"
    }


def test_the_manifest_lists_what_was_set_aside(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    campaign = copy_of(finished, tmp_path)
    before = {name: path for name, path in campaign.results().items() if name.startswith(("c/", "d/", "f/"))}
    campaign.sign()
    folder = campaign.root / "invalidated" / "v1"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["superseded_version"] == 1
    assert manifest["invalidated_stages"] == ["c", "d", "f"]
    assert manifest["repeated_verdicts"] == ["b", "e"]
    for entry in manifest["files"]:
        content = (folder / entry["file"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (entry["bytes"], entry["sha256"])
    assert {entry["file"] for entry in manifest["files"]} >= {f"results/{name}" for name in before}
    for name, text in before.items():
        assert (folder / "results" / name).read_text() == text
        assert not (campaign.root / "results" / name).exists()


def test_what_earlier_versions_left_goes_too(finished, tmp_path, monkeypatch):
    """A replica that the spec no longer has is invalidated with its stage: it must not come back as if finished."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    campaign = copy_of(finished, tmp_path)
    campaign.sign()
    campaign.amend("stages.b.definition.factor=3")
    assert not (campaign.root / "results" / "b" / "1").exists() or not list(
        (campaign.root / "results" / "b" / "1").iterdir()
    )
    assert (campaign.root / "invalidated" / "v2" / "results" / "b" / "1" / "outcome.json").is_file()
    campaign.amend("stages.c.definition.replicas=2")
    assert {"b-0", "b-1"} <= campaign.shown()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"record": 1, "signature": "", "spec_text": "", "signers_text": ""}',
        '{"record": "{}", "signature": "", "spec_text": "", "signers_text": ""}',
    ],
)
def test_a_journal_that_is_none_is_one_sentence(finished, tmp_path, monkeypatch, content):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    campaign = copy_of(finished, tmp_path)
    (campaign.root / "approvals" / "journal.json").write_text(content)
    with pytest.raises(UserError, match=r"journal\.json: is not a signed journal any more|is not valid JSON") as caught:
        approval_journal.finish(campaign.root)
    assert "\n" not in str(caught.value)


def test_a_journal_waits_for_who_works_on_the_campaign(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    campaign = copy_of(finished, tmp_path)
    with pytest.MonkeyPatch.context() as killing:
        die_at(killing, 4)
        with pytest.raises(Killed):
            campaign.sign()
    with campaign_lock.driver_lock(campaign.root):
        assert not approval_journal.finish(campaign.root)
    assert approval_journal.finish(campaign.root)
    assert amendment_draft.read_draft(campaign.root) is None
    assert json.loads(approve.propose(campaign.root).statement)["version"] == 2
