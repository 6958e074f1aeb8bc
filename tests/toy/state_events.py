"""Events of a made-up campaign, as steps, hooks and the logger tell them, and its state checked as it is read."""

import json

from sophron.campaign.state import projector
from sophron.records import clock, documents, events

HOST = {"pid": 4711, "pid_start": "boot/1", "host": "node1"}
SPEC = {
    "workflow_id": "lj",
    "version": 1,
    "digest": "a" * 64,
    "stages": [
        {"id": "build", "depends_on": [], "parameters": {"atoms": 108}, "success_criteria": [], "steps": 1},
        {
            "id": "produce",
            "depends_on": ["build"],
            "parameters": {"steps": 1000},
            "success_criteria": [{"id": "drift", "expression": "drift < 1", "statement": "No drift."}],
            "steps": 2,
        },
    ],
    "experiment_design": "experiment-design.md",
    "workflow_plan": "workflow-plan.md",
}
AMENDMENT = {
    "version": 2,
    "changes": ["stages.produce.definition.steps: 1000 -> 2000"],
    "rationale": "smaller error",
    "invalidated_stages": ["produce"],
    "approved_by": "ann",
    "timestamp": "2026-11-21T22:13:37+00:00",
}


def still_clock(monkeypatch):
    """Let every event have the same time."""
    monkeypatch.setattr(clock, "isoformat", lambda: "2026-11-21T22:13:37+00:00")


def tell(root, event, actor="sophron", **fields):
    events.append(root, actor, event, **fields)


def start(root, stage, *values, attempt=1):
    step = "-".join([stage, *values])
    wildcards = dict(zip(["replica"], values, strict=False))
    log = f"records/{step}/{attempt}"
    about = {"step": step, "stage": stage, "rule": stage, "wildcards": wildcards, "digest": "d", "log": log}
    tell(root, "step_started", **about, **HOST, **{"try": attempt})


def end(root, stage, *values, status="done", reason=None):
    wildcards = dict(zip(["replica"], values, strict=False))
    step = "-".join([stage, *values])
    tell(root, "step_ended", step=step, stage=stage, wildcards=wildcards, status=status, reason=reason)


def job_error(root, step, stage, rule):
    about = {"step": step, "stage": stage, "rule": rule, "wildcards": {}, "jobid": 4}
    tell(root, "job_error", "snakemake", **about, exit="killed by SIGKILL")


def project(root):
    """The state, after it was checked against its schema and against the file."""
    now = projector.project(root)
    assert json.loads((root / projector.NAME).read_bytes()) == now
    documents.validate(documents.Document(now, root / projector.NAME), "workflow-state")
    return now


def log(root):
    return (root / "progress.log").read_text()


def stage(now, name):
    return next(one for one in now["stages"] if one["id"] == name)


def begun(root):
    tell(root, "spec_loaded", **SPEC)
    tell(root, "approved", version=1, approver="ann", record="approvals/log/0001.json")
    tell(root, "run_started", "snakemake", **HOST, snakemake_version="9.27.1")


def built(root):
    begun(root)
    start(root, "build")
    end(root, "build")
    tell(root, "verdict", stage="build", verdict="pass", failed=[])
    tell(root, "accepted", stage="build")
