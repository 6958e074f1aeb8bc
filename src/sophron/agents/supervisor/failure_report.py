"""Write down what failed in a campaign for the agents that look at it; move failed results out of the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sophron.agents.documents import known_failures
from sophron.agents.memory import debug_memory
from sophron.agents.step import step_logs
from sophron.agents.step.failure_inputs import earlier, failure_path
from sophron.campaign.execution import clear_failed, outcome_store, verdict
from sophron.campaign.execution.tries import tries_of
from sophron.campaign.execution.verdict import Verdict
from sophron.campaign.planning import plan
from sophron.campaign.planning.campaign_agents import MOST_TRIES
from sophron.campaign.spec.spec import Spec
from sophron.campaign.state.projector import project
from sophron.interfaces import JsonObject
from sophron.records import documents, files
from sophron.records.digests import step_name
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json

MOST_RECOGNISED = 8
TRY_KEYS = ("step", "number", "status", "reason", "cores", "runtime_min")
SAME = ("version", "kind", "reasons", "verdict", "outcomes")
"""What two failures have in common if nothing changed between them; tries and logs have numbers and times."""
CURES_MACHINE = frozenset({"modules", "accelerator"})


@dataclass(frozen=True)
class Failure:
    """A stage that did not pass.

    kind: `verdict` (criteria), `outcome` (an engine failed), `dead` (no outcome), `environment` (no outcome, and the
    machine lacked something).
    """

    stage: str
    kind: str
    reasons: Mapping[str, str]
    verdict: Verdict | None = None

    @property
    def steps(self) -> list[str]:
        """Names of the steps that are at fault."""
        return list(self.reasons)


def first(root: Path, spec: Spec) -> Failure | None:
    """Return the first stage, in the order of the graph, that failed; None if none did."""
    state = {stage["id"]: stage for stage in project(root)["stages"]}
    for name in (stage.name for stage in spec.stages):
        known = state.get(name)
        if known is None or known["status"] == "completed":
            continue
        failure = _judge(root, spec, name) if known["verdict"] and known["verdict"]["verdict"] == "fail" else None
        dead = {**known["errored_steps"], **known["failed_steps"]}
        if failure or dead:
            return failure or _dead(root, name, {step: str(reason) for step, reason in dead.items()})
    return None


def _dead(root: Path, stage: str, reasons: dict[str, str]) -> Failure:
    """Report steps that died. Those that say what the machine lacks speak for all."""
    last = {step: tries_of(root, step)[-1:] for step in reasons}
    lacking = {step: reasons[step] for step, tries in last.items() if tries and tries[0].status == "environment"}
    return Failure(stage, "environment", lacking) if lacking else Failure(stage, "dead", reasons)


def has_choice(spec: Spec, stage: str) -> bool:
    """Return whether a signed choice may give a step an environment module or accelerator that its machine lacks."""
    return not CURES_MACHINE.isdisjoint(spec.mechanical_block(stage).get("choices", {}))


def _judge(root: Path, spec: Spec, stage: str) -> Failure | None:
    try:
        judged = verdict.judge(root, spec, stage)
    except UserError:  # its outcomes were set aside, and making them again is what failed
        return None
    if judged.passed:
        return None
    if judged.failed_steps:
        return Failure(stage, "outcome", {step: str(reason) for step, reason in judged.failed_steps.items()}, judged)
    return Failure(stage, "verdict", dict.fromkeys(judged.outcomes, "criteria"), judged)


def note(root: Path, spec: Spec, failure: Failure) -> int:
    """Write a failure down; the number of this attempt at the stage, from 1, counted anew for each version."""
    attempt = 1
    while (path := failure_path(root, failure.stage, str(attempt))).is_file():
        version = documents.load_record(path, "version")["version"]
        if version != spec.version:
            for old in (path, debug_memory.folder(root, failure.stage, attempt)):
                if old.exists():
                    files.move(old, path.parent / f"v{version}" / old.name)
        else:
            attempt += 1
    files.write_json(failure_path(root, failure.stage, str(attempt)), _content(root, spec, failure))
    return attempt


def _content(root: Path, spec: Spec, failure: Failure) -> JsonObject:
    tries = [one for step in failure.steps for one in tries_of(root, step)]
    named = step_logs.failed_steps(failure.reasons)
    log = step_logs.whole(root, failure.stage, named)
    if spec.host:
        log += step_logs.of_host(root, named, plan.host_workdir(root, spec.host))
    lines = [line for reason in failure.reasons.values() for line in reason.splitlines()] + log.splitlines()
    recognised = [match.told for match in known_failures.matches(lines, known_failures.installed())]
    return {
        "version": spec.version,
        "kind": failure.kind,
        "reasons": dict(failure.reasons),
        "verdict": to_json(failure.verdict),
        "outcome": {"result": {"refusal": _refusal(root, failure)}},
        "outcomes": _outcomes(root, failure),
        # Times and costs say nothing about a cause, and would make equal failures look different.
        "tries": [{key: getattr(one, key) for key in TRY_KEYS} for one in tries],
        "recognised": list({one["line"]: one for one in reversed(recognised)}.values())[::-1][:MOST_RECOGNISED],
        "log": log,
    }


def unchanged(root: Path, spec: Spec, failure: Failure) -> int | None:
    """Return the attempt at this very failure that was answered and changed nothing; None if there is none."""
    content = _content(root, spec, failure)
    for attempt in range(MOST_TRIES, 0, -1):
        path = failure_path(root, failure.stage, str(attempt))
        if path.is_file():
            before = documents.load_record(path)
            same = all(before.get(key) == to_json(content[key]) for key in SAME) and _causes(before) == _causes(content)
            return attempt if same and _is_answered(root, failure.stage, attempt) else None
    return None


def _causes(content: JsonObject) -> set[str]:
    return {one["what"] for one in content.get("recognised", [])}


def _is_answered(root: Path, stage: str, attempt: int) -> bool:
    """Return whether the agents have said what they can: an amendment was drafted or declined, or a repair named."""
    if (root / "records" / f"amend-{stage}-{attempt}" / "answer.json").is_file():
        return True
    answers = earlier(root, "debug", {"stage": stage, "attempt": str(attempt + 1)})
    return bool(answers) and answers[-1]["class"] == "environment"


def _outcomes(root: Path, failure: Failure) -> JsonObject:
    """Return what steps that are at fault left as their outcome: the reason, and the result if there is one."""
    paths = {step: outcome_store.published(root, step) for step in step_logs.failed_steps(failure.reasons)}
    found = {step: documents.load_record(path) for step, path in paths.items() if path}
    return {step: {key: one.get(key) for key in ("status", "reason", "result")} for step, one in found.items()}


def note_refusals(root: Path, stage: str, attempt: int, refusals: Sequence[str]) -> None:
    """Add to a failure why the amendment drafted for it could not be signed; its reader is asked again."""
    path = failure_path(root, stage, str(attempt))
    refused = earlier(root, "amend", {"stage": stage, "attempt": str(attempt + 1)})[-1:]
    files.write_json(path, documents.load_record(path) | {"refusals": list(refusals), "refused": refused})


def _refusal(root: Path, failure: Failure) -> str | None:
    """Return why an estimator refused a number, if one did."""
    for path in (outcome_store.published(root, step) for step in failure.steps):
        refusal = documents.load_record(path, "result")["result"].get("refusal") if path else None
        if refusal:
            return str(refusal)
    return None


def set_aside(root: Path, spec: Spec, failure: Failure) -> None:
    """Move the failed outcomes of a stage and its verdict to their steps' records, so that they are made again."""
    if failure.kind == "outcome":
        for wildcards in spec.steps(failure.stage):
            if step_name(failure.stage, wildcards) in failure.reasons:
                clear_failed.set_aside(root, spec, failure.stage, wildcards)
        project(root)
