"""Verify and accept: the deterministic verdict of a stage's criteria, and the thin step that stops at a failed one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sophron.campaign.execution import outcome_store
from sophron.campaign.spec import criteria
from sophron.campaign.spec.spec import Criterion, Spec, load_signed
from sophron.campaign.state.projector import project
from sophron.records import approvals, events, typed_json
from sophron.records.errors import Refused, UserError
from sophron.records.files import write_json
from sophron.records.typed_json import to_json


@dataclass(frozen=True)
class JudgedStep:
    """What a criterion said of one step (`criteria.Outcome`). values: name -> what was compared, as JSON holds it."""

    step: str
    passed: bool
    reason: str | None
    values: Mapping[str, object]
    comparisons: tuple[criteria.Comparison, ...]


@dataclass(frozen=True)
class JudgedCriterion(Criterion):
    """A criterion of the spec, and whether it holds in each step."""

    passed: bool
    steps: Sequence[JudgedStep]


@dataclass(frozen=True)
class Verdict:
    """`verdict.json`: whether a stage meets its criteria. verdict: "pass" or "fail"; outcomes: step -> digest."""

    stage: str
    verdict: str
    definition_digest: str
    criteria_digest: str
    failed_steps: Mapping[str, str | None]
    criteria: Sequence[JudgedCriterion]
    outcomes: Mapping[str, str]

    @property
    def passed(self) -> bool:
        """Whether every step is done and every criterion holds in each."""
        return self.verdict == "pass"


def judge(root: Path, spec: Spec, stage: str) -> Verdict:
    """Return the verdict of a stage over all its steps: pass or fail, with each number compared."""
    return judge_steps(spec, stage, outcome_store.all_finished(root, spec, stage))


def judge_steps(spec: Spec, stage: str, steps: Sequence[outcome_store.Finished]) -> Verdict:
    """Return the verdict of a stage over these finished steps of it."""
    constants = spec.constants(stage)
    tables = spec.stage(stage).tables
    columns = {step.step: _columns(step.files[tables]) for step in steps if tables and step.outcome.done}
    judged = [_judge_one(criterion, steps, constants, columns) for criterion in spec.criteria(stage)]
    failed_steps = {step.step: step.outcome.reason for step in steps if not step.outcome.done}
    passed = not failed_steps and all(criterion.passed for criterion in judged)
    return Verdict(
        stage=stage,
        verdict="pass" if passed else "fail",
        definition_digest=spec.definition_digest(stage),
        criteria_digest=spec.criteria_digest(stage),
        failed_steps=failed_steps,
        criteria=judged,
        outcomes={step.step: step.digest for step in steps},
    )


def _judge_one(
    criterion: Criterion,
    steps: Sequence[outcome_store.Finished],
    constants: Mapping[str, object],
    columns: Mapping[str, Mapping[str, object]],
) -> JudgedCriterion:
    judged = []
    for step in steps:
        values = {**step.outcome.result, **columns.get(step.step, {}), **_file_numbers(step), **constants}
        said = criteria.evaluate(criterion.expression, values)
        judged.append(JudgedStep(step.step, said.passed, said.reason, said.values, said.comparisons))
    return JudgedCriterion(**vars(criterion), passed=all(one.passed for one in judged), steps=judged)


def _columns(path: Path) -> dict[str, object]:
    """The columns of the tables that a step read."""
    from sophron.campaign.spec.columns import array

    return {name: array(values) for name, values in json.loads(path.read_bytes())["columns"].items()}


def _file_numbers(step: outcome_store.Finished) -> dict[str, int]:
    present = [path.stat().st_size for path in step.files.values() if path.is_file()]
    return {"files_missing": len(step.files) - len(present), "smallest_file_bytes": min(present, default=0)}


def sentences(verdict: Verdict) -> list[str]:
    """Return what failed, one sentence each."""
    lines = [f"{step} failed: {reason}" for step, reason in verdict.failed_steps.items()]
    for criterion in verdict.criteria:
        bad = [one for one in criterion.steps if not one.passed and one.step not in verdict.failed_steps]
        if bad:
            shown = ", ".join(f"{key} = {value}" for key, value in bad[0].values.items())
            more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
            lines.append(f"{criterion.id}: {criterion.expression} {bad[0].reason} in {bad[0].step}{more} ({shown})")
    return lines


def verify(claim: approvals.Claim, gate: Path, target: Path) -> None:
    """Run the verify step: write the verdict of a stage, pass or fail."""
    root = approvals.campaign_root(gate)
    spec = load_signed(approvals.require_approved(claim, root))
    if spec.criteria_digest(claim.stage) != claim.digest:
        raise Refused(f"verify-{claim.stage}: campaign.yaml has other criteria; use the rule as it is")
    verdict = judge(root, spec, claim.stage)
    write_json(target, to_json(verdict))
    failed = sentences(verdict)
    events.append(root, "sophron", "verdict", stage=claim.stage, verdict=verdict.verdict, failed=failed)
    project(root)


def _remedy(verdict: Verdict) -> str:
    if not verdict.failed_steps:
        return "change what is at fault: sophron amend"
    return f"change what is at fault: sophron amend; if it was the machine, repair it: sophron retry {verdict.stage}"


def acceptance(verdict: Verdict) -> dict[str, object]:
    """Return what is noted of a stage whose verdict is accepted."""
    return {"stage": verdict.stage, "definition_digest": verdict.definition_digest, "outcomes": verdict.outcomes}


def accept(claim: approvals.Claim, gate: Path, verdict_path: Path, accepted: Path, passed: Path) -> None:
    """Run the accept step: fail on a failed verdict; otherwise note what was accepted.

    What it writes depends on definition and inputs only, so that a changed criterion reruns nothing downstream.
    """
    root = approvals.campaign_root(gate)
    spec = load_signed(approvals.require_approved(claim, root))
    verdict = typed_json.load(verdict_path, Verdict)
    wanted = (spec.definition_digest(claim.stage), spec.criteria_digest(claim.stage))
    if (verdict.definition_digest, verdict.criteria_digest) != wanted or claim.digest != wanted[0]:
        raise Refused(f"{verdict_path}: is the verdict of another spec; move it away and run again: snakemake")
    if not verdict.passed:
        reasons = "; ".join(sentences(verdict))
        raise UserError(f"stage {claim.stage} failed its criteria ({reasons}); {_remedy(verdict)}")
    content = acceptance(verdict)
    write_json(accepted, content)
    write_json(passed, content)
    events.append(root, "sophron", "accepted", stage=claim.stage)
    project(root)
