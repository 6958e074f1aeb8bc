"""What mutation says of the criteria of a campaign, for the terminal."""

from collections.abc import Iterator
from pathlib import Path

from sophron.campaign.execution import outcome_store
from sophron.campaign.review.review_text import table
from sophron.campaign.spec import mutation
from sophron.campaign.spec.spec import Spec
from sophron.interfaces import JsonObject
from sophron.records.errors import Refused, UserError
from sophron.records.sanitize import one_line


def render(spec: Spec, root: Path) -> str:
    """Return each criterion with the least change of a result that fails it, and the faults that no criterion fails."""
    done = finished(spec, root)
    judged = mutation.judge_all(spec, done)
    rows = [["criterion", "", "the least that fails it, or why nothing does", "planted faults that fail it"]]
    rows += [
        [one_line(f"{one.stage}.{one.id}"), one.status, one_line(one.why), ", ".join(one.faults)] for one in judged
    ]
    lines = [f"{one_line(spec.campaign)}: perturbed are {_results(spec, done)}", *table(rows), *_faults(spec, judged)]
    return "\n".join(lines)


def finished(spec: Spec, root: Path) -> dict[str, JsonObject]:
    """Return stage -> the result of its first step, of the stages that are done and still what the spec says."""
    found = {}
    for stage in spec.stages:
        try:
            first = outcome_store.finished(root, spec, stage.name, spec.steps(stage.name)[0])
        except (Refused, UserError):
            continue
        if first.outcome.done:
            found[stage.name] = first.outcome.result
    return found


def _results(spec: Spec, done: dict[str, JsonObject]) -> str:
    stated = f"sound results as the kind {one_line(spec.kind.name)} states them"
    return f"the results of {', '.join(map(one_line, done))}, else {stated}" if done else stated


def _faults(spec: Spec, judged: list[mutation.Judgement]) -> Iterator[str]:
    for fault in mutation.uncaught(spec, judged):
        yield f"  no criterion fails the planted fault {fault.id}: {fault.what}"
    for fault in mutation.planted(spec.kind).faults:
        yield from (f"  {fault.id} ends {stage} without a result: {why}" for stage, why in fault.stops.items())
