"""A failed outcome cleared, so that its step is tried again: it moves to the step's records and is never deleted."""

import os
import time
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import count
from pathlib import Path

from sophron.campaign.execution import outcome_store
from sophron.campaign.spec.spec import Spec
from sophron.campaign.state.projector import project
from sophron.interfaces.kind import Wildcards
from sophron.records import events, files, typed_json
from sophron.records.digests import step_name
from sophron.records.errors import UserError, shown

Steps = dict[str, tuple[str, Wildcards]]
"""Name of a step -> the stage or part that it is one of, and its wildcards."""


def clear(root: Path, spec: Spec, name: str) -> list[str]:
    """Clear the failed outcomes of a stage, a part or one step, which start afresh; the names of the steps.

    Raises UserError for a name that the campaign does not have, and for one of which nothing failed. The caller holds
    the campaign's lock.
    """
    steps = _named(spec, name)
    failed = {step: steps[step] for step in steps if (path := outcome_store.published(root, step)) and _is_failed(path)}
    if not failed:
        raise UserError(_nothing_failed(root, name, list(steps)))
    for unit, wildcards in failed.values():
        set_aside(root, spec, unit, wildcards)
        _start_afresh(root / "scratch" / spec.definition_digest(unit)[:16] / step_name(unit, wildcards))
    project(root)
    return list(failed)


def _named(spec: Spec, name: str) -> Steps:
    units = [*(stage.name for stage in spec.stages), *spec.parts]
    near = [unit for unit in units if name == unit or name.startswith(f"{unit}-")]
    steps = {step_name(unit, one): (unit, one) for unit in near for one in spec.steps(unit)}
    if name in units:
        return {step: about for step, about in steps.items() if about[0] == name}
    if name in steps:
        return {name: steps[name]}
    if any(name == rule or name.startswith(f"{rule}-") for rule in spec.agent_rules):
        raise UserError(f"{shown(name)}: is a step of an agent; have it asked again with: sophron agent reask {name}")
    known = [*units, *(steps or (step_name(unit, one) for unit in units for one in spec.steps(unit)))]
    guess = get_close_matches(name, known, n=1)
    hint = f"did you mean {guess[0]}?" if guess else f"give one of {', '.join(units)}, or a step of them"
    raise UserError(f"{spec.document.path}: there is no stage or step {shown(name)}; {hint}")


def _is_failed(outcome: Path) -> bool:
    return not typed_json.load(outcome, outcome_store.Outcome).done


def _nothing_failed(root: Path, name: str, steps: list[str]) -> str:
    if any(outcome_store.published(root, step) for step in steps):
        return (
            f"{name}: no outcome of it is a failed one; if a criterion failed, change what is at fault: sophron amend"
        )
    return f"{name}: has no outcome to clear; the same line tries it again: snakemake"


def set_aside(root: Path, spec: Spec, unit: str, wildcards: Wildcards) -> None:
    """Move the failed outcome of a step, and the verdict on it, to the step's records; an event says so.

    The outcome goes last: after a kill in between, the same call goes on.
    """
    step = step_name(unit, wildcards)
    outcome = outcome_store.published(root, step)
    if outcome is None:
        return
    kept = next(_free(outcome_store.record_folder(root, step), f"failed-v{spec.version}"))
    for path in (
        *(outcome.parent / name for name in spec.unit(unit).outputs.values()),
        outcome.parents[len(wildcards)] / "verdict.json",
        outcome,
    ):
        if path.is_file():
            files.move(path, kept / path.name)
    about = {"step": step, "stage": spec.owner(unit), "wildcards": dict(wildcards)}
    events.append(root, "sophron", "cleared", **about, kept=os.path.relpath(kept, root))


def _free(folder: Path, name: str) -> Iterator[Path]:
    return (path for number in count(1) if not (path := folder / f"{name}-{number}").exists())


def _start_afresh(scratch: Path) -> None:
    """What a failed engine left may be what it failed of: a new try does not go on from it."""
    if scratch.is_dir():
        scratch.rename(scratch.with_name(f"{scratch.name}.set-aside-{time.time_ns()}"))
