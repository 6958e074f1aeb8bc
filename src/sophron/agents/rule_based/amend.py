"""Rule of thumb of the amend agent: a pitfall's own amendment, or longer sampling. It never signs."""

import ast
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sophron.agents.documents.answers import REMOVED, Change
from sophron.agents.rule_based.explain import margins_of
from sophron.agents.rule_based.input_checks import (
    count,
    given,
    mapping,
    needed,
    number,
    objects,
    quoted,
    stages_of,
    strings,
    text,
    texts,
)
from sophron.interfaces import UncheckedObject
from sophron.records.typed_json import to_json

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
    """Return what to sample longer, and by how much; None if the failure asks for something else."""
    source = _source(spec, stage)
    if source is None:
        return None
    refusal = next((match[1] for line in strings(failure) if (match := REFUSAL.match(line))), None)
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
    """Find the error criterion missed by most, if all that were missed are such: (comparison, value, limit)."""
    verdict = failure.get("verdict")
    missed = [one for one in margins_of(verdict).criteria if not one.passed] if verdict else []
    worst: tuple[str, float, float] | None = None
    for criterion in missed:
        if not ERROR_WORDS.search(criterion.expression) or not LIMITED.match(criterion.expression):
            return None
        for one in criterion.least:
            value, limit = one.value, one.limit
            if value is None or limit is None or limit <= 0 or value <= limit:
                continue
            if worst is None or value / limit > worst[1] / worst[2]:
                worst = (criterion.expression.split("<")[0].strip(), value, limit)
    return worst


def _source(spec: UncheckedObject, stage: str) -> str | None:
    """Return the stage that samples: `stage` itself or the nearest one below it whose definition counts steps."""
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
    """Yield intervals of which the steps must be a multiple."""
    yield 1
    for key, value in definition.items():
        interval = count(value)
        if key.endswith("_every") and interval is not None:
            yield interval


def _counted(block: UncheckedObject, source: str, steps: int, more: int) -> Iterator[Change]:
    """Yield criteria `name == n` that count samples of a run of `steps`, made to count those of the longer one."""
    for index, criterion in enumerate(objects(block.get("criteria", []), f"criteria of {source}")):
        expression = str(criterion.get("expression", ""))
        counted = _equals(expression)
        for interval in sorted(set(_intervals(_definition(block, source)))):
            if counted in (steps // interval, steps // interval + 1):
                name, new = expression.partition("==")[0].strip(), more // interval + counted - steps // interval
                yield Change(f"stages.{source}.criteria.{index}.expression", f"{name} == {new}")
                break


def _equals(expression: str) -> int | None:
    """Return the integer n of an expression `name == n`."""
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


@dataclass(frozen=True)
class Proposal:
    """Changes with their reason. alternatives: what a person could do instead."""

    changes: Sequence[Change]
    rationale: str
    alternatives: Sequence[str] = ()
    confidence: str = "medium"
    removed: frozenset[str] = field(default=frozenset())


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Apply the first rule that fits: the amendment that a pitfall of the catalogue brings; else longer sampling.

    A pitfall is taken where one of its signs stands in the failure or the diagnosis: that it happened says more than
    whether it was foreseen.
    Longer sampling: a standard error falls with the root of the sampled time, so an error missed by a factor f asks
    for f squared the steps (`sampling`). Where neither applies nothing is changed: a person must decide.
    """
    spec = mapping(given(inputs, "spec"), "spec")
    failure = mapping(inputs.get("failed") or given(inputs, "failure"), "failure")
    stage = text(given(inputs, "stage"), "stage")
    if stage not in stages_of(spec):
        raise ValueError(f"the spec has no stage {quoted(stage)}")
    pitfalls = objects(inputs.get("known_pitfalls") or inputs.get("pitfalls", []), "pitfalls")
    told = [failure, inputs.get("log", ""), inputs.get("diagnosis", {})]
    proposal = (
        _from_pitfall(pitfalls, spec, list(strings(told))) or _longer(spec, stage, failure) or _nothing(stage, pitfalls)
    )
    return {
        "changes": to_json(proposal.changes),
        "rationale": quoted(proposal.rationale, 1500),
        "invalidated_stages": _invalidated(spec, proposal),
        "alternatives": [quoted(one, 500) for one in proposal.alternatives if one.strip()],
        "confidence": proposal.confidence,
    }


def _from_pitfall(
    pitfalls: Sequence[UncheckedObject], spec: UncheckedObject, failures: Sequence[str]
) -> Proposal | None:
    for pitfall in pitfalls:
        amendment = mapping(pitfall.get("amendment") or {}, "amendment of a pitfall")
        signs = texts(amendment.get("signs", []), "signs of an amendment")
        seen = any(sign.lower() in line.lower() for sign in signs for line in failures)
        if not amendment or not seen:
            continue
        removed = texts(amendment.get("remove_stages", []), "remove_stages")
        added = mapping(amendment.get("add_stages") or {}, "add_stages")
        changes = [Change(f"stages.{name}") for name in removed if name in stages_of(spec)]
        changes += [Change(f"stages.{name}", block) for name, block in added.items()]
        if "method_name" in amendment:
            changes.append(Change("method.name", text(amendment["method_name"], "method_name")))
        for change in objects(amendment.get("changes", []), "changes of an amendment"):
            changes.append(Change(text(change.get("path"), "a changed path"), change.get("value", REMOVED)))
        rationale = f"{pitfall.get('title', pitfall.get('id', ''))}: {text(amendment.get('rationale'), 'rationale')}"
        other = f"As the catalogue says: {pitfall.get('safeguard', '')}"
        return Proposal(changes, rationale, [other], "high", frozenset(removed))
    return None


def _longer(spec: UncheckedObject, stage: str, failure: UncheckedObject) -> Proposal | None:
    change = longer(spec, stage, failure)
    if change is None:
        return None
    return Proposal(change.changes, change.rationale, change.alternatives)


def _nothing(stage: str, pitfalls: Sequence[UncheckedObject]) -> Proposal:
    safeguards = [f"If {p.get('title', '')} is the cause: {p.get('safeguard', '')}" for p in pitfalls if "title" in p]
    rationale = f"No rule of thumb says what would cure {stage}; nothing is changed, and a person must decide."
    return Proposal([], rationale, safeguards[:5], "low")


def _invalidated(spec: UncheckedObject, proposal: Proposal) -> list[str]:
    """Return stages of the spec whose definition or place in the graph changes, and all that build on one of them."""
    blocks = stages_of(spec)
    changed = set(proposal.removed)
    for change in proposal.changes:
        keys = change.path.split(".")
        whole = keys[0] == "stages" and len(keys) == 2
        if keys[0] == "stages" and (whole or keys[2:3] in (["definition"], ["depends_on"])):
            changed.add(keys[1])
        if keys[0] == "seed":
            changed.update(blocks)
    while True:
        grown = {name for name, block in blocks.items() if changed.intersection(needed(block, name))} - changed
        if not grown:
            return [name for name in blocks if name in changed]
        changed |= grown
