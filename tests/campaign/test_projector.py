"""The projected state: what each event does to stages, steps and the log."""

import pytest
from state_events import AMENDMENT, HOST, SPEC, built, end, job_error, log, project, stage, start, still_clock, tell

from sophron.campaign.state import projector
from sophron.campaign.state.campaign_state import plain


@pytest.fixture(autouse=True)
def _clock(monkeypatch):
    still_clock(monkeypatch)


def test_a_campaign_from_spec_to_completion(tmp_path):
    assert projector.project(tmp_path)["next_command"] == "sophron review"
    assert list(tmp_path.iterdir()) == []
    tell(tmp_path, "spec_loaded", **SPEC)
    now = project(tmp_path)
    assert (now["workflow_status"], now["waiting_gate"], now["next_command"]) == (
        "pending",
        "specify",
        "sophron review",
    )
    tell(tmp_path, "approved", version=1, approver="ann", record="approvals/log/0001.json")
    now = project(tmp_path)
    assert (now["waiting_gate"], now["next_command"]) == (None, "snakemake")
    start(tmp_path, "build")
    now = project(tmp_path)
    assert stage(now, "build")["running_process"] == [
        {"step": "build", "log": "records/build/1", "try": 1, "started_at": "2026-11-21T22:13:37+00:00", **HOST}
    ]
    end(tmp_path, "build")
    assert stage(project(tmp_path), "build")["status"] == "in_progress"  # not before it is judged
    tell(tmp_path, "verdict", stage="build", verdict="pass", failed=[])
    tell(tmp_path, "accepted", stage="build")
    assert stage(project(tmp_path), "build")["status"] == "completed"
    for replica in "01":
        start(tmp_path, "produce", replica)
    for replica in "01":
        end(tmp_path, "produce", replica)
    tell(tmp_path, "verdict", stage="produce", verdict="pass", failed=[])
    tell(tmp_path, "accepted", stage="produce")
    now = project(tmp_path)
    produce = stage(now, "produce")
    assert produce["outputs"] == ["results/produce/0", "results/produce/1"]
    assert (produce["steps"], produce["parameters"], produce["depends_on"]) == (2, {"steps": 1000}, ["build"])
    assert (now["workflow_status"], now["next_command"]) == ("completed", None)


def test_the_log_has_one_line_a_transition(tmp_path):
    built(tmp_path)
    start(tmp_path, "produce", "0")
    project(tmp_path)
    lines = log(tmp_path).splitlines()
    assert all(line.startswith("[2026-11-21 22:13:37+00:00] ") for line in lines)
    assert [line.split("] ", 1)[1] for line in lines] == [
        "sophron: spec of lj, version 1: 2 stages, 3 steps",
        "sophron: version 1 approved by ann (approvals/log/0001.json)",
        "snakemake: snakemake 9.27.1 started (pid 4711 on node1)",
        "sophron: build started (try 1, pid 4711 on node1)",
        "sophron: stage build: pending -> in_progress",
        "sophron: campaign: pending -> in_progress",
        "sophron: build done",
        "sophron: verdict on build: pass",
        "sophron: stage build: in_progress -> completed",
        "sophron: produce-0 started (try 1, pid 4711 on node1)",
        "sophron: stage produce: pending -> in_progress",
    ]


def test_a_retry_that_cures(tmp_path):
    built(tmp_path)
    start(tmp_path, "produce", "0")
    end(tmp_path, "produce", "0", status="retry", reason="out of memory")
    job_error(tmp_path, "produce-0", "produce", "produce")
    produce = stage(project(tmp_path), "produce")
    assert (produce["status"], produce["last_error"]) == ("in_progress", "produce-0: out of memory")
    start(tmp_path, "produce", "0", attempt=2)
    end(tmp_path, "produce", "0")
    produce = stage(project(tmp_path), "produce")
    assert (produce["retry_count"], produce["errored_steps"], len(produce["outputs"])) == (1, {}, 1)
    told = [line.split(": ", 1)[1] for line in log(tmp_path).splitlines()[-4:]]
    assert told == [
        "stage produce: pending -> in_progress",
        "produce-0 asks for a retry: out of memory",  # the step said it, Snakemake need not say it again
        "produce-0 started again (try 2, pid 4711 on node1)",
        "produce-0 done",
    ]


def test_a_step_that_died_silently_is_told_by_snakemake_and_fails_when_it_gives_up(tmp_path):
    built(tmp_path)
    start(tmp_path, "produce", "0")
    job_error(tmp_path, "produce-0", "produce", "produce")
    produce = stage(project(tmp_path), "produce")
    assert (produce["status"], produce["running_process"]) == ("in_progress", [])
    assert log(tmp_path).endswith("produce-0 died without a word: killed by SIGKILL (job 4 of rule produce)\n")
    tell(tmp_path, "run_ended", "snakemake", pid=4711, host="node1", done=3, total=9)
    now = project(tmp_path)
    assert (stage(now, "produce")["status"], now["workflow_status"], now["next_command"]) == (
        "failed",
        "failed",
        "snakemake",
    )
    assert (now["run"]["done"], now["run"]["total"]) == (3, 9)


def test_a_step_of_a_killed_driver_starts_again(tmp_path):
    built(tmp_path)
    start(tmp_path, "produce", "0")
    tell(tmp_path, "run_started", "snakemake", **{**HOST, "pid": 5000}, snakemake_version="9.27.1")
    end(tmp_path, "produce", "0", status="killed", reason="its process was killed")
    start(tmp_path, "produce", "0", attempt=2)
    produce = stage(project(tmp_path), "produce")
    assert (produce["status"], produce["retry_count"], len(produce["running_process"])) == ("in_progress", 1, 1)
    start(tmp_path, "produce", "0", attempt=3)  # nobody told of the second one's end
    produce = stage(project(tmp_path), "produce")
    assert (produce["retry_count"], [one["try"] for one in produce["running_process"]]) == (2, [3])
    assert "produce-0 was cut off and started again (try 3" in log(tmp_path)


def test_a_step_killed_before_its_last_word_counts_when_snakemake_finds_its_outputs(tmp_path):
    built(tmp_path)
    start(tmp_path, "produce", "0")
    about = {"step": "produce-0", "stage": "produce", "rule": "produce", "wildcards": {"replica": "0"}}
    for _ in "12":
        tell(tmp_path, "job_finished", "snakemake", **about, jobid=4)
        produce = stage(project(tmp_path), "produce")
        assert (produce["running_process"], produce["outputs"]) == ([], ["results/produce/0"])
    assert log(tmp_path).count("produce-0 done") == 1


def test_a_failed_verdict_waits_for_an_amendment(tmp_path):
    built(tmp_path)
    for replica in "01":
        start(tmp_path, "produce", replica)
        end(tmp_path, "produce", replica)
    tell(tmp_path, "verdict", stage="produce", verdict="fail", failed=["drift: drift < 1 is false in produce-0"])
    job_error(tmp_path, "accept-produce", "produce", "accept")  # the verdict told it
    now = project(tmp_path)
    assert (stage(now, "produce")["status"], now["next_command"]) == ("failed", "sophron amend")
    assert "drift < 1 is false" in stage(now, "produce")["last_error"]
    assert "accept-produce" not in log(tmp_path)

    tell(tmp_path, "drafted", version=2, rationale="smaller error", invalidated_stages=["produce"])
    now = project(tmp_path)
    assert (now["waiting_gate"], now["next_command"]) == ("amend", "sophron approve")

    tell(tmp_path, "amended", **AMENDMENT)
    tell(tmp_path, "invalidated", stage="produce", version=1)
    tell(tmp_path, "approved", version=2, approver="ann", record="approvals/log/0002.json")
    tell(tmp_path, "spec_loaded", **{**SPEC, "version": 2, "digest": "b" * 64})
    now = project(tmp_path)
    produce = stage(now, "produce")
    assert (produce["status"], produce["outputs"], produce["invalidated_by"]) == ("invalidated", [], 1)
    assert (produce["verdict"], produce["retry_count"], produce["last_error"]) == (None, 0, None)
    assert stage(now, "build")["status"] == "completed"
    assert (now["version"], now["amendments"], now["draft"]) == (2, [AMENDMENT], None)
    assert (now["workflow_status"], now["waiting_gate"], now["next_command"]) == ("in_progress", None, "snakemake")

    tell(tmp_path, "amended", **AMENDMENT)  # its journal was cut off and tells it again
    assert project(tmp_path)["amendments"] == [AMENDMENT]
    assert log(tmp_path).count("amendment to version 2, approved by ann: smaller error") == 1


def test_a_changed_criterion_asks_for_another_verdict_only(tmp_path):
    built(tmp_path)
    start(tmp_path, "produce", "0")
    end(tmp_path, "produce", "0")
    tell(tmp_path, "verdict", stage="produce", verdict="pass", failed=[])
    tell(tmp_path, "accepted", stage="produce")
    stages = [SPEC["stages"][0], {**SPEC["stages"][1], "success_criteria": []}]
    tell(tmp_path, "amended", **{**AMENDMENT, "invalidated_stages": []})
    tell(tmp_path, "spec_loaded", **{**SPEC, "version": 2, "digest": "b" * 64, "stages": stages})
    now = project(tmp_path)
    assert [one["status"] for one in now["stages"]] == ["completed", "in_progress"]
    assert (stage(now, "produce")["verdict"], len(stage(now, "produce")["outputs"])) == (None, 1)


def test_an_edited_spec_waits_at_the_amend_gate(tmp_path):
    built(tmp_path)
    tell(tmp_path, "spec_loaded", **{**SPEC, "digest": "b" * 64})
    now = project(tmp_path)
    assert (now["waiting_gate"], now["next_command"]) == ("amend", "sophron amend")


def test_a_refusal_stands_until_it_is_cured(tmp_path):
    built(tmp_path)
    tell(tmp_path, "refused", step="produce-0", reason="campaign.yaml has another definition")
    job_error(tmp_path, "produce-0", "produce", "produce")
    now = project(tmp_path)
    assert (now["last_refusal"]["step"], now["next_command"]) == ("produce-0", "sophron review")
    assert log(tmp_path).count("produce-0") == 1
    start(tmp_path, "produce", "0")
    assert project(tmp_path)["last_refusal"] is None


def test_no_reason_can_forge_a_line(tmp_path):
    built(tmp_path)
    forged = "bad\n[2026-11-21 22:13:37+00:00] sophron: version 2 approved by eve\x1b[2K\u202e"
    tell(tmp_path, "refused", step="x", reason=forged)
    project(tmp_path)
    last = log(tmp_path).splitlines()[-1]
    assert last.startswith("[2026-11-21 22:13:37+00:00] sophron: x refused: bad [2026")
    assert last.isprintable()
    assert len(plain("x" * 5000)) == 400


def test_how_long_the_last_steps_took_until_their_definition_is_amended(tmp_path):
    built(tmp_path)
    for number in range(20):
        about = {"step": f"produce-{number}", "stage": "produce", "wildcards": {"replica": str(number)}}
        tell(tmp_path, "step_ended", **about, status="done", reason=None, wall_s=number, peak_memory_mb=80.5)
    assert project(tmp_path)["durations"] == {"produce": list(range(5, 20))}
    tell(tmp_path, "amended", **AMENDMENT)
    assert project(tmp_path)["durations"] == {}


def test_an_agent_is_waited_for_until_it_answers_or_the_next_run(tmp_path):
    built(tmp_path)
    tell(tmp_path, "agent_asked", step="caveats", agent="report")
    tell(tmp_path, "agent_asked", step="debug-a-1", agent="debug")
    tell(tmp_path, "agent_failed", step="debug-a-1", agent="debug", kind="refusal", reason="r")
    assert project(tmp_path)["asked"] == {"caveats": {"agent": "report", "since": "2026-11-21T22:13:37+00:00"}}
    tell(tmp_path, "run_started", **HOST | {"pid": 4712}, snakemake_version="9.27.1")
    assert project(tmp_path)["asked"] == {}


def test_all_stages_accepted_is_not_the_end_of_a_run_that_was_killed(tmp_path):
    built(tmp_path)
    for event in ("verdict", "accepted"):
        tell(tmp_path, event, stage="produce", verdict="pass", failed=[])
    assert project(tmp_path)["next_command"] == "snakemake"
    tell(tmp_path, "run_ended", pid=HOST["pid"], host=HOST["host"], done=9, total=9)
    assert project(tmp_path)["next_command"] is None
