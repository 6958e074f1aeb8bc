"""Whatever a person, a crash or a full disk leaves where a document belongs: a verb ends at once, in one sentence."""

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import finished_campaign
import pytest
import toy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sophron.campaign.approval import amendment_draft
from sophron.campaign.planning import campaign_agents
from sophron.campaign.spec import spec
from sophron.cli import main

GATE = ["--gate", "approvals/gate.json"]
DOCUMENTS = [
    "campaign.yaml", "mechanical.yaml", "approvals/gate.json", "approvals/allowed_signers", "approvals/revoked_keys",
    "approvals/draft.json", "approvals/draft.campaign.yaml", "approvals/journal.json", "approvals/log/0002.json",
    "approvals/log/0001.json", "approvals/log/0002.sig", "config/models.yaml", "agents/caveats.md", "results/caveats.json",
    "records/events.jsonl", "records/usage.json", "records/ledger.jsonl", "records/c/1/try.json",
    "records/c/published.json", "results/c/outcome.json", "results/c/verdict.json", "results/c/numbers.txt",
    "results/b/0/outcome.json", "workflow-state.json", "progress.log", "init.sh", "logs/c.log",
    "records/driver.lock", "../config/sophron/trust.json", "../config/sophron/budget.yaml", "../state/sophron/ledger.jsonl",
]  # fmt: skip
DEEP = b"[" * 100_000
STATES = {
    "missing": lambda path: None,
    "folder": Path.mkdir,
    "fifo": os.mkfifo,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "empty": lambda path: path.write_bytes(b""),
    "deep JSON": lambda path: path.write_bytes(DEEP),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 4),
    "an object": lambda path: path.write_text("{}\n"),
    "a list": lambda path: path.write_text("[]\n"),
    "a number": lambda path: path.write_text("3\n"),
}


class TooLongError(BaseException):
    """No verb may catch it."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A finished campaign with a draft that waits, and the words of each verb."""
    with pytest.MonkeyPatch.context() as patch:
        toy.plan_here(patch)
        campaign = finished_campaign.make(tmp_path_factory.mktemp("original"), patch)
        assert finished_campaign.report(campaign) == 0
        amendment_draft.draft_amendment(campaign.root, "because", ["stages.c.definition.weight=0.48"], None)
        toy.plan_once(patch)
        yield campaign, _verbs(campaign)


def _verbs(campaign):
    loaded = spec.load(campaign.spec)
    definition, criteria = loaded.definition_digest("c"), loaded.criteria_digest("c")
    agent = campaign_agents.digest_of(campaign.root, loaded, "caveats")
    verdict = ["--verdict", "results/c/verdict.json"]
    shape = ["--cores", "1", "--memory-mb", "200", "--runtime-min", "5"]
    accepted = ["--accepted", "results/c/accepted.json", "--passed", "results/c/passed"]
    written = ["--html", "results/report.html", "--crate", "results/ro-crate-metadata.json"]
    return [
        ["status"],
        ["status", "--json"],
        ["review"],
        ["approve", "--key", str(campaign.key), "--digest", "0" * 64],
        ["amend", "--set", "stages.c.definition.weight=0.47", "--rationale", "so"],
        ["amend", "--withdraw", "2", "--rationale", "so"],
        ["amend", "--drop"],
        ["retry", "c"],
        ["answer"],
        ["restarts"],
        ["signer", "list"],
        ["mailbox", "list"],
        ["agent", "list"],
        ["agent", "check"],
        ["agent", "reask", "caveats"],
        ["gate", "approvals/gate.json"],
        ["stage", "c", *GATE, "--outcome", "results/c/outcome.json", "--log", "logs/c.log", *shape, "--digest", definition],
        ["verify", "c", *GATE, *verdict, "--log", "logs/v.log", "--digest", criteria],
        ["accept", "c", *GATE, *verdict, *accepted, "--log", "logs/a.log", "--digest", definition],
        ["agent", "run", "caveats", *GATE, "--answer", "results/caveats.json", "--log", "logs/l.log", "--digest", agent],
        ["report", *GATE, "--caveats", "results/caveats.json", *written, "--log", "logs/r.log", "--digest", loaded.report_digest()],
    ]  # fmt: skip


def _too_long(*_):
    raise TooLongError


def ended(words):
    """Run a verb here; its exit code and what it said. No verb may take 20 seconds, or end in an exception."""
    said = io.StringIO()
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(20)
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(said),
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setattr(sys, "argv", ["sophron", *words])
            return main(words), said.getvalue()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def is_well(words, code, said):
    """Done, or refused in one sentence; `agent check` counts the agents at fault, and 1 is a failed criterion's."""
    assert code in ((0, 1, 2) if words[:2] == ["agent", "check"] else (0, 2)), (code, said)
    if code == 2:
        assert said.strip().splitlines()[-1].startswith(f"sophron {words[0]}: ")
        assert len(said) < 5000
    assert "Traceback" not in said


@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(name=st.sampled_from(DOCUMENTS), state=st.sampled_from(sorted(STATES)), data=st.data())
def test_every_verb_ends_well_whatever_stands_where_a_document_belongs(world, tmp_path_factory, name, state, data):
    campaign, verbs = world
    words = data.draw(st.sampled_from(verbs))
    folder = tmp_path_factory.mktemp("broken")
    try:
        shutil.copytree(campaign.root.parent, folder, symlinks=True, dirs_exist_ok=True)
        root = folder / campaign.root.name
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        STATES[state](path)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(root)
            patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
            patch.setenv("XDG_STATE_HOME", str(folder / "state"))
            is_well(words, *ended(words))
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def tmpfs(folder, *options):
    """A small file system of its own; skips whoever may not mount one."""
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", ",".join(("size=4m", *options)), "none", str(folder)],
            check=False,
            capture_output=True,
        ).returncode
    ):
        pytest.skip("only root may mount a small file system")
    try:
        yield
    finally:
        os.chdir("/")
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("trouble", ["full", "read-only"])
def test_every_verb_ends_well_on_a_disk_that_takes_nothing(world, tmp_path, trouble):
    campaign, verbs = world
    with tmpfs(tmp_path):
        shutil.copytree(campaign.root.parent, tmp_path, symlinks=True, dirs_exist_ok=True)
        if trouble == "full":
            with contextlib.suppress(OSError), (tmp_path / "fill").open("wb", buffering=0) as fill:
                while True:
                    fill.write(bytes(4096))
        else:
            subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        refused = 0
        for words in verbs:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(tmp_path / campaign.root.name)
                patch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
                patch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
                code, said = ended(words)
            is_well(words, code, said)
            refused += ("the disk is full" if trouble == "full" else "file system is read-only") in said
        assert refused >= (2 if trouble == "full" else 5)  # a line more may fit into the last page of a file


@pytest.mark.parametrize("words", [["status"], ["review"], ["answer"], ["agent", "list"], ["profile", "list"]])
def test_an_account_without_home_gets_a_sentence_or_an_answer(world, monkeypatch, words):
    campaign, _ = world
    monkeypatch.chdir(campaign.root)
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: (_ for _ in ()).throw(KeyError(uid)))
    is_well(words, *ended(words))
