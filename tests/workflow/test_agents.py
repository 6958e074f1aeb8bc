"""Agent steps inside real workflows: planned and bounded, typed, kept, replayed, and amended when a prompt is edited."""

import json
import shutil
import socket

import pytest
import toy

from sophron.agents.memory import debug_memory
from sophron.agents.supervisor import supervisor
from sophron.campaign.approval import amendment_draft
from sophron.records.errors import UserError
from sophron.records.files import resource


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    return toy.campaign(tmp_path, monkeypatch)


def answer_file(campaign, name="caveats.json"):
    return json.loads((campaign.root / "results" / name).read_text())


def forget(campaign):
    """Remove the answer and what quotes it: Snakemake does not make again what nobody needs."""
    for name in ("caveats.json", "report.html"):
        (campaign.root / "results" / name).unlink()


def test_the_report_agent_answers_once_is_reasked_replayed_and_amended(campaign, monkeypatch):
    campaign.sign()
    campaign.complete()
    _check_answered(campaign)
    audit = campaign.root / "records" / "caveats" / "audit.jsonl"
    first = (campaign.root / "results" / "caveats.json").read_bytes()

    forget(campaign)
    campaign.complete()
    assert len(audit.read_text().splitlines()) == 1, "a kept answer is not asked again"

    assert toy.cli.main(["agent", "reask", "caveats", str(campaign.root)]) == 0
    campaign.complete()
    assert len(audit.read_text().splitlines()) == 2
    assert (campaign.root / "records" / "caveats" / "set-aside" / "1" / "answer.json").is_file()

    forget(campaign)
    with monkeypatch.context() as offline:
        offline.setenv("SOPHRON_AGENTS", "replay")
        for proxy in ("http_proxy", "https_proxy", "all_proxy"):
            offline.setenv(proxy, f"http://127.0.0.1:{_closed_port()}")
        campaign.complete()
    assert (campaign.root / "results" / "caveats.json").read_bytes() == first
    assert [json.loads(line)["provider"] for line in audit.read_text().splitlines()] == ["heuristic"] * 2 + ["replay"]

    _check_amended(campaign)


def _check_answered(campaign):
    found = answer_file(campaign)
    assert (found["agent"], found["backend"], found["step"]) == ("caveats", "heuristic", "caveats")
    page = (campaign.root / "results" / "report.html").read_text()
    assert "rules of thumb, not by a language model" in page
    (told,) = campaign.events("agent_answered")
    assert told["wall_s"] >= 0
    assert told["agent"] == "caveats"
    assert "caveats (heuristic" in (campaign.root / "progress.log").read_text()


def _check_amended(campaign):
    """An edited prompt is refused until it is signed as an amendment, and reruns what it should and nothing else."""
    before, answers = campaign.tries(), len(campaign.events("agent_answered"))
    own = campaign.root / "agents" / "caveats.md"
    own.parent.mkdir()
    shutil.copy(resource("workflow", "agents", "caveats.md"), own)
    own.write_text(own.read_text() + "\nBe brief.\n")
    refused = campaign.snakemake()
    assert refused.returncode != 0
    assert (
        "the agent behind caveats has another digest than the signed one (agents/caveats.md changed)" in refused.stdout
    )
    with pytest.raises(UserError, match="agent behind caveats is another one"):
        campaign.sign()
    drafted = campaign.amend()
    assert drafted.changes == ["agents: the agent behind caveats is another one"]
    assert drafted.invalidated_stages == []
    assert campaign.shown() == {"caveats", "report"}
    campaign.complete()
    assert campaign.tries() == before
    assert len(campaign.events("agent_answered")) == answers + 1


def test_a_step_beyond_the_bound_of_its_template_is_refused(campaign):
    campaign.sign()
    failures = campaign.root / "records" / "failures"
    failures.mkdir(parents=True)
    for attempt in (5, 6):
        content = {"version": 1, "kind": "dead", "reasons": {"a": "oom-kill"}, "verdict": None, "tries": [], "log": ""}
        (failures / f"a-{attempt}.json").write_text(json.dumps(content))
        debug_memory.take(campaign.root, "a", attempt)
    assert campaign.snakemake("results/a/debug-5.json").returncode == 0
    refused = campaign.snakemake("results/a/debug-6.json")
    assert refused.returncode != 0
    assert "debug-a-6 is beyond the" in refused.stdout


def _closed_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_a_stranger_model_cannot_stand_in_for_the_signed_one(campaign, capsys):
    campaign.sign()
    assert toy.cli.main(["run", str(campaign.root), "--agents", "anthropic"]) == 2
    assert "only heuristic, mailbox, replay may stand in" in capsys.readouterr().err


def test_sophron_run_ends_a_sound_campaign_stage_by_stage(campaign):
    campaign.sign()
    ending, _ = campaign.drive(stagewise=True)
    assert ending is supervisor.Ending.DONE
    assert (campaign.root / "results" / "report.html").is_file()
    assert len(list((campaign.root / ".snakemake" / "log").glob("*.log"))) == 7, (
        "a process for each stage, and the last"
    )


@pytest.mark.slow
def test_memory_that_the_retries_do_not_reach_is_chosen_from_the_signed_choices(campaign):
    campaign.edit("definition: {factor: 2}", "definition: {factor: 2, needs_mb: 550}")
    text = campaign.spec.read_text()
    head, tail = text.split("  b:\n")
    b, rest = tail.split("  c:\n")
    b = b.replace("choices: {threads: [1, 2]}", "choices: {memory_mb: [200, 600]}").replace("retries: 2", "retries: 0")
    campaign.spec.write_text(f"{head}  b:\n{b}  c:\n{rest}")
    campaign.sign()
    ending, said = campaign.drive()
    assert ending is supervisor.Ending.DONE, said
    (overlay,) = campaign.events("overlay")
    assert (overlay["stage"], overlay["key"], overlay["value"]) == ("b", "memory_mb", 600)
    log = (campaign.root / "progress.log").read_text()
    assert "mechanical choice memory_mb = 600" in log
    assert "debug-b-1" in log
    told = debug_memory.snapshot_inputs(campaign.root, "b", 1)
    assert told == {"memory": "(nothing yet)", "history": []}, "the snapshot is of the moment before the attempt"
    debug_memory.take(campaign.root, "b", 2)
    told = debug_memory.snapshot_inputs(campaign.root, "b", 2)
    assert [one["status"] for one in told["history"]] == ["started", "pass"]
    assert told["memory"].count("memory_mb = 600 cured b") == 2, "in this campaign, and for the user's others"


def test_a_definitional_fault_changes_nothing_and_waits_for_a_person(campaign):
    campaign.edit('expression: "abs(mean - 11) < 1"', 'expression: "abs(mean - 12) < 0.1"')
    campaign.sign()
    signed = campaign.spec.read_bytes()
    ending, said = campaign.drive()
    assert ending in (supervisor.Ending.ESCALATED, supervisor.Ending.SIGNATURE)
    assert campaign.spec.read_bytes() == signed
    assert not (campaign.root / "mechanical.yaml").exists()
    assert campaign.events("overlay") == []
    assert "debug" not in said, "a missed criterion has no mechanical cure, so the debug agent is not asked"
    explained = answer_file(campaign, "c/explanation.json")["answer"]
    assert (explained["verdict"], explained["next"]) == ("fail", "amend")
    assert explained["explanation"] in said
    # A second call looks again and stops at once: nothing was recomputed, and nobody is asked again.
    before, asked = campaign.tries(), len(campaign.events("agent_asked"))
    ending, said = campaign.drive()
    assert ending is supervisor.Ending.SIGNATURE
    assert "c failed as in attempt 1, and nothing changed since: no agent is asked again" in said
    assert (campaign.tries(), len(campaign.events("agent_asked"))) == (before, asked)
    assert len(list((campaign.root / "records" / "failures").glob("c-*.json"))) == 1
    # Neither is anybody while a draft waits.
    amendment_draft.draft_amendment(campaign.root, "another weight", ["stages.c.definition.weight=0.49"])
    ending, said = campaign.drive()
    assert ending is supervisor.Ending.SIGNATURE
    assert "Version 2 is drafted and waits for a signature" in said
    assert len(campaign.events("agent_asked")) == asked


def test_a_pause_file_stops_before_the_next_process(campaign):
    campaign.sign()
    (campaign.root / "PAUSE").touch()
    assert campaign.drive()[0] is supervisor.Ending.PAUSED
    assert campaign.tries() == {}


def test_three_rapid_deaths_halt_and_so_does_the_cap_on_processes(campaign):
    campaign.sign()
    ending, said = campaign.drive(options=["--no-such-option"])
    assert ending is supervisor.Ending.HALTED
    assert "3 processes died within a minute" in said
    assert campaign.drive(processes=1, options=["--no-such-option"])[0] is supervisor.Ending.HALTED
