"""Verify and accept: the deterministic verdict of a stage's criteria, and the thin step that stops at a failed one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sophron.campaign.execution import outcome_store
from sophron.campaign.spec import criteria
from sophron.campaign.spec.spec import Spec, load_signed
from sophron.campaign.state.projector import project
from sophron.records import approvals, documents, events
from sophron.records.atomic import write_json
from sophron.records.errors import Refused, UserError


def judge(root: Path, spec: Spec, stage: str) -> dict[str, Any]:
    """The verdict of a stage over all its steps: pass or fail, with each number compared."""
    steps = outcome_store.all_finished(root, spec, stage)
    constants = spec.constants(stage)
    judged = [_judge_one(criterion, steps, constants) for criterion in spec.criteria(stage)]
    failed_steps = [step.step for step in steps if step.outcome["status"] != "done"]
    passed = not failed_steps and all(criterion["passed"] for criterion in judged)
    return {
        "stage": stage,
        "verdict": "pass" if passed else "fail",
        "definition_digest": spec.definition_digest(stage),
        "criteria_digest": spec.criteria_digest(stage),
        "failed_steps": {step.step: step.outcome["reason"] for step in steps if step.step in failed_steps},
        "criteria": judged,
        "outcomes": {step.step: step.digest for step in steps},
    }


def _judge_one(
    criterion: Mapping[str, str], steps: Sequence[outcome_store.Finished], constants: Mapping[str, Any]
) -> dict[str, Any]:
    judged = []
    for step in steps:
        values = {**step.outcome["result"], **_file_numbers(step), **constants}
        outcome = criteria.evaluate(criterion["expression"], values)
        judged.append({"step": step.step} | asdict(outcome))
    return {**criterion, "passed": all(one["passed"] for one in judged), "steps": judged}


def _file_numbers(step: outcome_store.Finished) -> dict[str, int]:
    present = [path.stat().st_size for path in step.files.values() if path.is_file()]
    return {"files_missing": len(step.files) - len(present), "smallest_file_bytes": min(present, default=0)}


def sentences(verdict: Mapping[str, Any]) -> list[str]:
    """What failed, one sentence each."""
    lines = [f"{step} failed: {reason}" for step, reason in verdict["failed_steps"].items()]
    for criterion in verdict["criteria"]:
        bad = [one for one in criterion["steps"] if not one["passed"] and one["step"] not in verdict["failed_steps"]]
        if bad:
            shown = ", ".join(f"{key} = {value}" for key, value in bad[0]["values"].items())
            more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
            lines.append(
                f"{criterion['id']}: {criterion['expression']} {bad[0]['reason']} in {bad[0]['step']}{more} ({shown})"
            )
    return lines


def verify(claim: approvals.Claim, gate: Path, target: Path) -> None:
    """The verify step: write the verdict of a stage, pass or fail."""
    root = approvals.campaign_root(gate)
    spec = load_signed(approvals.require_approved(claim, root))
    if spec.criteria_digest(claim.stage) != claim.digest:
        raise Refused(f"verify-{claim.stage}: campaign.yaml has other criteria; use the rule as it is")
    verdict = judge(root, spec, claim.stage)
    write_json(target, verdict)
    failed = sentences(verdict)
    events.append(root, "sophron", "verdict", stage=claim.stage, verdict=verdict["verdict"], failed=failed)
    project(root)


def _remedy(verdict: Mapping[str, Any]) -> str:
    if not verdict["failed_steps"]:
        return "change what is at fault: sophron amend"
    return f"change what is at fault: sophron amend; if it was the machine, repair it: sophron retry {verdict['stage']}"


def accept(claim: approvals.Claim, gate: Path, verdict_path: Path, accepted: Path, passed: Path) -> None:
    """The accept step: fail on a failed verdict; otherwise note what was accepted.

    What it writes depends on definition and inputs only, so that a changed criterion reruns nothing downstream.
    """
    root = approvals.campaign_root(gate)
    spec = load_signed(approvals.require_approved(claim, root))
    verdict = documents.load_json(verdict_path)
    wanted = (spec.definition_digest(claim.stage), spec.criteria_digest(claim.stage))
    found = [verdict.get(f"{part}_digest") for part in ("definition", "criteria")] if isinstance(verdict, dict) else []
    if tuple(found) != wanted or claim.digest != wanted[0]:
        raise Refused(f"{verdict_path}: is the verdict of another spec; move it away and run again: snakemake")
    if verdict["verdict"] != "pass":
        reasons = "; ".join(sentences(verdict))
        raise UserError(f"stage {claim.stage} failed its criteria ({reasons}); {_remedy(verdict)}")
    content = {"stage": claim.stage, "definition_digest": wanted[0], "outcomes": verdict["outcomes"]}
    write_json(accepted, content)
    write_json(passed, content)
    events.append(root, "sophron", "accepted", stage=claim.stage)
    project(root)
