"""Rule of thumb of the plan agent: stages in running order, their bounds, and what a reviewer should look at."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from sophron.agents.rule_based.input_checks import (
    given,
    mapping,
    needed,
    number,
    objects,
    quoted,
    stages_of,
    texts,
    whole,
)
from sophron.interfaces import UncheckedObject

LARGE_SHARE = 0.5  # of the limit: one stage that takes more deserves a look
TIGHT = 0.9


@dataclass(frozen=True)
class Resources:
    """Ceilings of one try, and how many tries there are."""

    cores: int
    memory_mb: int
    runtime_min: int
    tries: int


@dataclass(frozen=True)
class PlannedStage:
    """A stage as the answer has it. cost_core_hours: at most."""

    id: str
    depends_on: list[str]
    purpose: str
    steps: int
    resources: Resources
    cost_core_hours: float


@dataclass(frozen=True)
class Cost:
    """Of the whole plan, beside what is allowed."""

    core_hours: float
    core_hours_limit: float | None
    steps: int
    steps_limit: int | None


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Put in order what the spec and the plan say; a stage's purpose is what its criteria state.

    Warns where the plan exceeds the limits or comes within a tenth of them, where one stage takes more than half,
    where a try cannot grow although it may be repeated, and where an assumption is UNVERIFIED.
    """
    spec = mapping(given(inputs, "spec"), "spec")
    plan = mapping(given(inputs, "plan"), "plan")
    blocks = stages_of(spec)
    counts = _counts(plan)
    hours = mapping(plan.get("core_hours", {}), "plan.core_hours")
    stages = [_stage(name, blocks[name], counts.get(name, 0), hours.get(name)) for name in _ordered(blocks)]
    cost = _cost(spec, sum(counts.values()), sum(number(value) or 0 for value in hours.values()))
    warnings = [*texts(plan.get("excess", []), "plan.excess"), *_warnings(spec, blocks, stages, cost)]
    return {
        "stages": [asdict(stage) for stage in stages],
        "cost": asdict(cost),
        "warnings": warnings,
    }


def _counts(plan: UncheckedObject) -> dict[str, int]:
    """Map each stage to its steps, from the plan's list of {stage, rule, steps}."""
    counts: dict[str, int] = {}
    for entry in objects(plan.get("counts", []), "plan.counts"):
        stage = str(entry.get("stage"))
        counts[stage] = counts.get(stage, 0) + max(0, whole(entry.get("steps"), "plan.counts.steps"))
    return counts


def _ordered(blocks: Mapping[str, UncheckedObject]) -> list[str]:
    """Return names of stages, each after those it builds on; in the order of the spec where that leaves a choice."""
    ordered: list[str] = []
    left = list(blocks)
    while left:
        ready = [
            name for name in left if all(one in ordered or one not in blocks for one in needed(blocks[name], name))
        ]
        if not ready:
            raise ValueError(f"the stages {', '.join(left)} depend on each other")
        ordered.append(ready[0])
        left.remove(ready[0])
    return ordered


def _stage(name: str, block: UncheckedObject, steps: int, hours: object) -> PlannedStage:
    mechanical = mapping(block.get("mechanical", {}), f"mechanical of {name}")
    ceilings = mapping(mechanical.get("ceilings", {}), f"ceilings of {name}")
    tries = max(0, whole(mechanical.get("retries", 2), f"retries of {name}")) + 1
    sizes = (max(0, whole(ceilings.get(key, 0), f"{key} of {name}")) for key in ("cores", "memory_mb", "runtime_min"))
    stated = [str(one.get("statement", "")) for one in objects(block.get("criteria", []), f"criteria of {name}")]
    purpose = f"To be accepted: {' '.join(stated)}" if any(stated) else "No criterion judges it; it prepares or shows."
    cores, memory_mb, runtime_min = sizes
    resources, cost = Resources(cores, memory_mb, runtime_min, tries), max(0.0, number(hours) or 0.0)
    return PlannedStage(name, needed(block, name), quoted(purpose, 1000), steps, resources, cost)


def _cost(spec: UncheckedObject, steps: int, hours: float) -> Cost:
    limits = mapping(spec.get("limits", {}), "spec.limits")
    most = limits.get("steps")
    allowed = None if most is None else whole(most, "limits.steps")
    return Cost(max(0.0, hours), number(limits.get("core_hours")), steps, allowed)


def _warnings(
    spec: UncheckedObject, blocks: Mapping[str, UncheckedObject], stages: list[PlannedStage], cost: Cost
) -> Iterator[str]:
    limit = cost.core_hours_limit
    for stage in stages:
        if limit and stage.cost_core_hours > LARGE_SHARE * limit:
            hours = f"{stage.cost_core_hours:.3g} of {limit:g} core-hours"
            yield f"{stage.id} may take {hours}; look at its ceilings."
        first = mapping(blocks[stage.id].get("mechanical", {}), f"mechanical of {stage.id}")
        most = {"memory_mb": stage.resources.memory_mb, "runtime_min": stage.resources.runtime_min}
        grows = any((number(first.get(key)) or 0) < ceiling for key, ceiling in most.items())
        if stage.resources.tries > 1 and not grows:
            yield f"{stage.id} may be tried again, but with no more memory or time; raise its ceilings."
        if stage.resources.tries == 1:
            yield f"{stage.id} has no retries: one killed job stops the campaign there."
    if limit and TIGHT * limit < cost.core_hours <= limit:
        hours = f"{cost.core_hours:.4g} of {limit:g} core-hours"
        yield f"The ceilings take {hours}; an amendment that adds any needs a new limit."
    assumptions = mapping(spec.get("method", {}), "spec.method").get("assumptions", [])
    for one in objects(assumptions, "method.assumptions"):
        if one.get("status") == "UNVERIFIED":
            yield quoted(f"UNVERIFIED: {one.get('statement')} (to be verified by: {one.get('verified_by')})", 400)
