"""How `sophron run` ends: in every case in a sentence and an exit code, and without an agent that is not needed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import toy

from sophron.agents.supervisor import snakemake_process, supervisor
from sophron.campaign.approval import amendment_draft
from sophron.campaign.execution import campaign_lock, environment_faults
from sophron.records.errors import Refused
from sophron.records.files import FileLock
from sophron.warm_workers import fork_server


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    return toy.campaign(tmp_path, monkeypatch)


@pytest.fixture
def no_snakemake(monkeypatch):
    monkeypatch.setattr(supervisor, "snakemake", lambda *_: pytest.fail("Snakemake was started"))


def drive(campaign, **settings):
    said = []
    ending = supervisor.Loop(
        campaign.root, supervisor.Settings(**{"options": toy.BASICS} | settings), said.append
    ).run()
    return ending, "\n".join(said)


@contextlib.contextmanager
def servers_begun(monkeypatch):
    """Sockets of the fork servers that are started beside Snakemake."""
    whole, paths = fork_server.early, []

    @contextlib.contextmanager
    def early(*details):
        with whole(*details) as beside:
            paths.append(json.loads(beside.environment[fork_server.EARLY])["path"])
            yield beside

    with monkeypatch.context() as watched:
        watched.setattr(fork_server, "early", early)
        yield paths


def test_what_the_machine_lacks_is_said_without_an_agent_and_once_repaired_the_same_line_goes_on(campaign, monkeypatch):
    campaign.edit("{first: 1, terms: 4}", "{first: 1, terms: 4, wants: engine.txt}")
    with (campaign.root / "Snakefile").open("a") as snakefile:
        snakefile.write("\n\nfrom sophron.campaign.snakefile.onstart import begin\n\n\nonstart:\n    begin('.')\n")
    campaign.sign()
    ending, said = campaign.drive()
    assert ending is supervisor.Ending.REPAIR, said
    assert "a: engine.txt is not there, which a needs; put it there" in said
    assert said.endswith("Repair the machine, then: sophron run again.")
    assert campaign.events("agent_answered", "agent_asked", "drafted") == []

    (campaign.root / "engine.txt").touch()
    monkeypatch.setenv("TOY_TELLS", str(campaign.root / "told"))
    with servers_begun(monkeypatch) as begun_early:
        assert campaign.drive(here=True)[0] is supervisor.Ending.DONE
    told = json.loads((campaign.root / "told").read_text())
    assert begun_early[0] in told["started_as"], "a step is forked from the process that started beside Snakemake"
    assert not Path(begun_early[0]).exists()

    with monkeypatch.context() as idle:
        idle.setattr(supervisor, "snakemake", lambda *_: pytest.fail("Snakemake was started"))
        begun = time.monotonic()
        ending, said = campaign.drive()
        assert (ending, said) == (
            supervisor.Ending.DONE,
            "Nothing is left to do: all stages passed, and nothing changed since.",
        )
        assert time.monotonic() - begun < 5
    (campaign.root / "results" / "report.html").unlink()
    assert campaign.drive()[0] is supervisor.Ending.DONE
    assert (campaign.root / "results" / "report.html").is_file(), "what was lost is made again"


@pytest.mark.usefixtures("no_snakemake")
def test_a_draft_that_waits_ends_it_at_once(campaign):
    campaign.sign()
    amendment_draft.draft_amendment(campaign.root, "more terms", ["stages.a.definition.terms=5"])
    ending, said = drive(campaign)
    assert ending is supervisor.Ending.SIGNATURE
    assert said.startswith("Version 2 is drafted and waits for a signature: more terms")


@pytest.mark.usefixtures("no_snakemake")
def test_what_is_not_signed_is_refused_at_once(campaign):
    with pytest.raises(Refused, match="the plan is not approved yet"):
        drive(campaign)


@pytest.mark.usefixtures("no_snakemake")
@pytest.mark.parametrize(
    ("lock", "said"),
    [(supervisor.RUN_LOCK, "Another sophron run"), (campaign_lock.DRIVER_LOCK, "another process works on this")],
)
def test_a_second_one_leaves_the_first_alone(campaign, lock, said):
    with FileLock(campaign.root / lock):
        ending, told = drive(campaign)
    assert ending is supervisor.Ending.BUSY
    assert said in told


@pytest.mark.slow
def test_an_agent_that_is_not_to_be_had_twice_halts_it_whatever_time_that_took(campaign, monkeypatch):
    monkeypatch.setattr(supervisor, "RAPID_S", 0.0)
    campaign.edit("{first: 1, terms: 4}", "{first: 1, terms: 4, breaks: true}")
    campaign.sign()
    begun = []
    whole = supervisor.snakemake
    monkeypatch.setattr(supervisor, "snakemake", lambda *details: (begun.append(details[2]), whole(*details))[1])
    ending, said = campaign.drive(environment={"SOPHRON_AGENTS": "replay"})
    assert ending is supervisor.Ending.HALTED, said
    assert "the agent debug gave no answer twice" in said
    assert [targets[0] if targets else "all" for targets in begun] == [
        "all",
        "results/a/debug-1.json",
        "all",
        "results/a/debug-2.json",
    ], "and verify is not asked what a failed engine means"


def died(told=(), code=1, elapsed_s=3600.0):
    return snakemake_process.Ended(code, elapsed_s, list(told))


@pytest.mark.parametrize(
    ("ended", "ending", "said"),
    [
        (died([{"event": "refused", "step": "a", "reason": "beyond the envelope"}]), 5, "Refused: beyond the envelope"),
        (died(), 6, "3 processes died within a minute or finished nothing; no stage is known to have failed"),
        (
            died([{"event": "agent_failed", "agent": "report", "kind": "unavailable", "reason": "no route"}]),
            6,
            "the agent report gave no answer twice (unavailable: no route)",
        ),
    ],
)
def test_a_process_that_dies_slowly_is_not_repeated_for_ever(campaign, monkeypatch, ended, ending, said):
    campaign.sign()
    monkeypatch.setattr(supervisor, "snakemake", lambda *_: ended)
    assert drive(campaign)[0] == ending
    assert said in drive(campaign)[1]


def test_a_full_disk_is_a_sentence(campaign, monkeypatch):
    campaign.sign()
    with monkeypatch.context() as full:
        full.setattr(supervisor, "snakemake", lambda *_: died())
        full.setattr(environment_faults, "unwritable", lambda _: "No space left on device (records)")
        assert drive(campaign) == (
            supervisor.Ending.REPAIR,
            "No space left on device (records): make room, then: sophron run again.",
        )

    def fails(*_):
        raise OSError(28, os.strerror(28), "records/events.jsonl")

    monkeypatch.setattr(supervisor, "snakemake", fails)
    ending, said = drive(campaign)
    assert ending is supervisor.Ending.REPAIR
    assert said.startswith("Halted: records/events.jsonl: ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_what_it_started_and_is_said(campaign, number):
    campaign.edit("{first: 1, terms: 4}", "{first: 1, terms: 4, sleep_ms: 600000}")
    campaign.sign()
    command = [sys.executable, "-m", "sophron", "run", str(campaign.root), "--cores", "1", "--option=--quiet"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until = time.monotonic() + 300
    while not campaign.events("step_started") and time.monotonic() < until and running.poll() is None:
        time.sleep(0.1)
    (started,) = campaign.events("step_started")
    running.send_signal(number)
    said = running.communicate(timeout=120)[0]
    assert running.returncode == 128 + number
    assert f"Stopped by {number.name}: what ran was ended." in said
    assert not (Path("/proc") / str(started["pid"])).exists()
    with campaign_lock.driver_lock(campaign.root):
        pass
