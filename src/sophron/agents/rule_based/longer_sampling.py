"""How much longer to sample: the square-root law for a missed error, and what a refused plateau asks for.

The standard error of a time average falls with the root of the sampled time (Zwanzig and Ailawadi 1969,
10.1103/PhysRev.182.280); a criterion on an error that was missed by a factor f needs f squared the time.
"""

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from sophron.agents.documents.answers import Change
from sophron.agents.rule_based.explain import comparisons
from sophron.agents.rule_based.input_checks import (
    count,
    mapping,
    needed,
    number,
    objects,
    quoted,
    stages_of,
    strings,
    text,
)
from sophron.interfaces import UncheckedObject

ERROR_WORDS = re.compile(r"error|uncertainty", re.IGNORECASE)
LIMITED = re.compile(r"^\s*[a-z_]+\s*<=?\s*[0-9.eE+-]+\s*$")
REFUSAL = re.compile(r"^(window_too_short|run_too_short|noise|no_relaxation): ")
GROWTH = {"window_too_short": 2, "run_too_short": 2, "no_relaxation": 2, "noise": 4}
RESERVE = 1.1  # the error's own estimate has an error; without it every second repetition would miss again
MOST_GROWTH = 100  # beyond, a person should think about the method


@dataclass(frozen=True)
class Longer:
    """Changes that sample longer, with their reason and what could be done instead."""

    changes: list[Change]
    rationale: str
    alternatives: list[str]


def longer(spec: UncheckedObject, stage: str, failure: UncheckedObject) -> Longer | None:
    """What to sample longer, and by how much; None where the failure asks for something else."""
    source = _source(spec, stage)
    if source is None:
        return None
    refusal = next((found[1] for line in strings(failure) if (found := REFUSAL.match(line))), None)
    if refusal:
        why = f"The estimator of {stage} refused to give a number ({refusal})"
        return _grown(spec, stage, source, GROWTH[refusal], why, window=refusal == "window_too_short")
    missed = _missed(failure)
    if missed is None:
        return None
    name, value, limit = missed
    factor = (value / limit) ** 2 * RESERVE
    why = f"{name} is {value:.3g} where less than {limit:.3g} is asked for, {value / limit:.2g} times too large"
    return _grown(spec, stage, source, factor, why, window=False) if factor <= MOST_GROWTH else None


def _missed(failure: UncheckedObject) -> tuple[str, float, float] | None:
    """The error criterion that was missed by most, if all that were missed are such: (comparison, value, limit)."""
    verdict = mapping(failure.get("verdict") or {}, "failure.verdict")
    missed = [one for one in objects(verdict.get("criteria", []), "verdict.criteria") if not one.get("passed")]
    worst: tuple[str, float, float] | None = None
    for criterion in missed:
        expression = text(criterion.get("expression"), "the expression of a criterion")
        if not ERROR_WORDS.search(expression) or not LIMITED.match(expression):
            return None
        for one in comparisons(criterion):
            value, limit = one.value, one.limit
            if value is None or limit is None or limit <= 0 or value <= limit:
                continue
            if worst is None or value / limit > worst[1] / worst[2]:
                worst = (expression.split("<")[0].strip(), value, limit)
    return worst


def _source(spec: UncheckedObject, stage: str) -> str | None:
    """The stage that samples: `stage` itself or the nearest one below it whose definition counts steps."""
    blocks, waiting, seen = stages_of(spec), [stage], set[str]()
    while waiting:
        name = waiting.pop(0)
        if name in seen or name not in blocks:
            continue
        seen.add(name)
        if _steps(blocks[name], name) is not None:
            return name
        waiting += needed(blocks[name], name)
    return None


def _definition(block: UncheckedObject, name: str) -> UncheckedObject:
    return mapping(block.get("definition", {}), f"definition of {name}")


def _steps(block: UncheckedObject, name: str) -> int | None:
    return count(_definition(block, name).get("steps"))


def _grown(spec: UncheckedObject, stage: str, source: str, factor: float, why: str, *, window: bool) -> Longer | None:
    blocks = stages_of(spec)
    block = blocks[source]
    definition, steps = _definition(block, source), _steps(block, source) or 0
    unit = math.lcm(*(value for value in _intervals(definition)))
    more = math.ceil(steps * factor / unit) * unit
    changes = [Change(f"stages.{source}.definition.steps", more), *_counted(block, source, steps, more)]
    lag = number(_definition(blocks[stage], stage).get("max_lag_tau"))
    if window and lag is not None:
        changes.append(Change(f"stages.{stage}.definition.max_lag_tau", lag * factor))
    rationale = (
        f"{why}. {source} runs {more} steps instead of {steps}. Its ceilings and limits.core_hours are left as they "
        f"are; a person must see whether they suffice for {more / steps:.3g} times the work."
    )
    others = [f"State a larger error in the criterion of {stage}, if the question allows it."]
    replicas = count(_definition(blocks[stage], stage).get("replicas"))
    if replicas is not None and not window:
        others.insert(0, f"Run {math.ceil(replicas * factor)} replicas instead of {replicas}, each as long as before.")
    return Longer(changes, quoted(rationale, 1500), others)


def _intervals(definition: UncheckedObject) -> Iterator[int]:
    """Intervals of which the steps must be a multiple."""
    yield 1
    for key, value in definition.items():
        interval = count(value)
        if key.endswith("_every") and interval is not None:
            yield interval


def _counted(block: UncheckedObject, source: str, steps: int, more: int) -> Iterator[Change]:
    """Criteria `name == n` that count samples of a run of `steps`, made to count those of the longer one."""
    for index, criterion in enumerate(objects(block.get("criteria", []), f"criteria of {source}")):
        expression = str(criterion.get("expression", ""))
        counted = _equals(expression)
        for interval in sorted(set(_intervals(_definition(block, source)))):
            if counted in (steps // interval, steps // interval + 1):
                name, new = expression.partition("==")[0].strip(), more // interval + counted - steps // interval
                yield Change(f"stages.{source}.criteria.{index}.expression", f"{name} == {new}")
                break


def _equals(expression: str) -> int | None:
    """The integer n of an expression `name == n`."""
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    plain = isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.Eq)
    if not plain or not isinstance(tree, ast.Compare) or not isinstance(tree.left, ast.Name):
        return None
    right = tree.comparators[0]
    if not isinstance(right, ast.Constant) or isinstance(right.value, bool) or not isinstance(right.value, int):
        return None
    return right.value
