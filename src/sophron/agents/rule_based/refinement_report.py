"""The words of a refinement's report, from its numbers: what limits it, what it does not exclude, how sure it is."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sophron.agents.rule_based.input_checks import objects, read
from sophron.agents.rule_based.refinement_state import Climb
from sophron.interfaces import UncheckedObject

FEW_COUNTS_R_EXPECTED = 10.0
"""Per cent: above it noise hides a model's faults from its R factor (Toby 2006, 10.1154/1.2179804)."""
MISFIT = 2.0
GOOD = 1.3


@dataclass(frozen=True)
class FitNumbers:
    """How well the model fits. limits_deg: first and last angle; R factors in per cent."""

    gof: float
    rwp_engine: str
    rwp_percent: float
    r_expected_percent: float
    limits_deg: tuple[float, ...]


@dataclass(frozen=True)
class ReportedPhase:
    """A phase, whether it is claimed, and its scale over its standard deviation."""

    name: str
    claimed: bool
    significance: float | None


@dataclass(frozen=True)
class HeldGroup:
    """A group of parameters at its first value, and why."""

    group: str
    reason: str


@dataclass(frozen=True)
class FreeGroup:
    """A group of parameters that was refined."""

    group: str


@dataclass(frozen=True)
class Refined:
    """What was free; count: parameters."""

    groups: tuple[FreeGroup, ...]
    count: int


@dataclass(frozen=True)
class Report:
    """What the sentences of a report rest on, of the fields that the tool gives."""

    pattern: str
    engine: str
    engine_version: str
    converged: bool
    fit: FitNumbers
    phases: tuple[ReportedPhase, ...]
    held: tuple[HeldGroup, ...]
    refined: Refined


def answer(fields: UncheckedObject, climb: Climb) -> UncheckedObject:
    """A whole report: the tool's fields, the claims that the climb allows, and sentences about both."""
    given = read(Report, fields, "the report")
    made = replace(given, phases=tuple(_judged(phase, climb) for phase in given.phases))
    phases = [
        {**one, **vars(phase)} for one, phase in zip(objects(fields["phases"], "phases"), made.phases, strict=True)
    ]
    return {
        **fields,
        "phases": phases,
        "caveats": list(_caveats(made, climb)),
        "alternatives": list(_alternatives(made, climb)),
        "confidence": _confidence(made, climb),
        "summary": _summary(made),
    }


def _judged(phase: ReportedPhase, climb: Climb) -> ReportedPhase:
    """A fit that does not explain the pattern is no evidence for any phase in it."""
    claimed = not climb.unexplained and (phase.claimed or phase.name in climb.claimed)
    tested = climb.significances.get(phase.name)
    return replace(phase, claimed=claimed, significance=phase.significance if tested is None else tested)


def _caveats(made: Report, climb: Climb) -> Iterator[str]:
    fit = made.fit
    if climb.unexplained:
        why = " and ".join(climb.unexplained)
        yield f"The phases given do not explain the pattern: {why}. No fit of them is claimed."
    if fit.r_expected_percent > FEW_COUNTS_R_EXPECTED:
        yield (
            f"Counting statistics alone give an R factor of {fit.r_expected_percent:.1f} %: a low Rwp cannot be "
            "expected of so few counts, and faults of the model may hide in the noise."
        )
    if fit.gof > MISFIT:
        yield f"The goodness of fit is {fit.gof:.2f}: the model lacks something that the pattern shows."
    if not made.converged:
        yield "The last cycle did not converge."
    for held in made.held:
        if "counts" in held.reason:
            yield f"{held.group} is held at its first value: {held.reason}."
    yield from (f"Something went wrong on the way and was undone: {one[:400]}" for one in climb.troubles)
    yield from (f"{name} was not tested: {why}." for name, why in climb.untested.items())


def _alternatives(made: Report, climb: Climb) -> Iterator[str]:
    tests = climb.recipe.candidates
    if climb.unexplained:
        yield "The sample is another phase, or another form of one that was given: index its lines, or search for them."
    for name, found in climb.significances.items():
        if name in climb.claimed and not climb.unexplained:
            yield f"Without {name} the model fits worse by what its scale is worth, {found:.1f} standard deviations."
        elif found is None:
            yield f"Whether {name} is there was not decided: its test came to no fit."
        elif tests is not None and found >= tests.absent_below:
            yield f"Whether {name} is there is open: its scale is {found:.1f} standard deviations, too few for a claim."
    groups = {one.group for one in made.refined.groups}
    if "displacement" in groups:
        yield "A zero error instead of a displacement would shift the cell; both at once cannot be told apart."


def _confidence(made: Report, climb: Climb) -> str:
    if made.fit.gof > MISFIT or not made.converged or climb.troubles or climb.unexplained:
        return "low"
    return "high" if made.fit.gof < GOOD and made.fit.r_expected_percent <= FEW_COUNTS_R_EXPECTED else "medium"


def _summary(made: Report) -> str:
    fit = made.fit
    there = ", ".join(one.name for one in made.phases if one.claimed)
    claimed = f"Claimed phases: {there}." if there else "No phase is claimed: those given do not explain the pattern."
    freed = ", ".join(dict.fromkeys(one.group for one in made.refined.groups))
    return (
        f"{made.pattern} was refined with {made.engine} {made.engine_version} from {fit.limits_deg[0]:g} "
        f"to {fit.limits_deg[1]:g} degrees: Rwp({fit.rwp_engine}) {fit.rwp_percent:.2f} %, expected "
        f"{fit.r_expected_percent:.2f} %, goodness of fit {fit.gof:.2f}. {claimed} Free were "
        f"{freed}: {made.refined.count} parameters."
    )
