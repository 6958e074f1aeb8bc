"""Rule of thumb of the refine agent: it climbs the recipe that it is given, with the tools of the rietveld server.

The order (scale and background, cell, profile, atoms) and the caution are those of McCusker et al., J. Appl. Cryst. 32
(1999) 36, 10.1107/S0021889898009856; what is freed, when and for how many counts stands in the recipe alone.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sophron.agents.rule_based.input_checks import given, mapping, objects, read
from sophron.agents.rule_based.refinement_state import Climb, Recipe, Rung, ToolResult, Turns, used
from sophron.interfaces import UncheckedObject
from sophron.interfaces.model_backend import ToolAnswer
from sophron.interfaces.rule_based_agent import ToolUser, Use
from sophron.records import documents

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


def report_words(fields: UncheckedObject, climb: Climb) -> UncheckedObject:
    """Return a whole report: the tool's fields, the claims that the climb allows, and sentences about both."""
    original = read(Report, fields, "the report")
    report = replace(original, phases=tuple(_judged(phase, climb) for phase in original.phases))
    phases = [
        {**one, **vars(phase)} for one, phase in zip(objects(fields["phases"], "phases"), report.phases, strict=True)
    ]
    return {
        **fields,
        "phases": phases,
        "caveats": list(_caveats(report, climb)),
        "alternatives": list(_alternatives(report, climb)),
        "confidence": _confidence(report, climb),
        "summary": _summary(report),
    }


def _judged(phase: ReportedPhase, climb: Climb) -> ReportedPhase:
    """Judge a phase: a fit that does not explain the pattern is not evidence for any phase in it."""
    claimed = not climb.unexplained and (phase.claimed or phase.name in climb.claimed)
    tested = climb.significances.get(phase.name)
    return replace(phase, claimed=claimed, significance=phase.significance if tested is None else tested)


def _caveats(report: Report, climb: Climb) -> Iterator[str]:
    fit = report.fit
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
    if not report.converged:
        yield "The last cycle did not converge."
    for held in report.held:
        if "counts" in held.reason:
            yield f"{held.group} is held at its first value: {held.reason}."
    yield from (f"Something went wrong on the way and was undone: {one[:400]}" for one in climb.troubles)
    yield from (f"{name} was not tested: {why}." for name, why in climb.untested.items())


def _alternatives(report: Report, climb: Climb) -> Iterator[str]:
    tests = climb.recipe.candidates
    if climb.unexplained:
        yield "The sample is another phase, or another form of one that was given: index its lines, or search for them."
    for name, worth in climb.significances.items():
        if name in climb.claimed and not climb.unexplained:
            yield f"Without {name} the model fits worse by what its scale is worth, {worth:.1f} standard deviations."
        elif worth is None:
            yield f"Whether {name} is there was not decided: its test came to no fit."
        elif tests is not None and worth >= tests.absent_below:
            yield f"Whether {name} is there is open: its scale is {worth:.1f} standard deviations, too few for a claim."
    groups = {one.group for one in report.refined.groups}
    if "displacement" in groups:
        yield "A zero error instead of a displacement would shift the cell; both at once cannot be told apart."


def _confidence(report: Report, climb: Climb) -> str:
    if report.fit.gof > MISFIT or not report.converged or climb.troubles or climb.unexplained:
        return "low"
    return "high" if report.fit.gof < GOOD and report.fit.r_expected_percent <= FEW_COUNTS_R_EXPECTED else "medium"


def _summary(report: Report) -> str:
    fit = report.fit
    there = ", ".join(one.name for one in report.phases if one.claimed)
    claimed = f"Claimed phases: {there}." if there else "No phase is claimed: those given do not explain the pattern."
    freed = ", ".join(dict.fromkeys(one.group for one in report.refined.groups))
    return (
        f"{report.pattern} was refined with {report.engine} {report.engine_version} from {fit.limits_deg[0]:g} "
        f"to {fit.limits_deg[1]:g} degrees: Rwp({fit.rwp_engine}) {fit.rwp_percent:.2f} %, expected "
        f"{fit.r_expected_percent:.2f} %, goodness of fit {fit.gof:.2f}. {claimed} Free were "
        f"{freed}: {report.refined.count} parameters."
    )


RECIPE = ("rietveld/refine", "recipe")
"""Its schema."""

EXPLAINS = (
    ("misfit_percent", "misfit_percent", "beyond counting statistics the model misses"),
    ("cell_moved_percent", "cell_percent", "a cell left the structure that was given by"),
)
"""Number of a diagnosis, its bound in the recipe, and what it says."""
ATOM = 2
"""Slashes in the name of a parameter of one atom."""

UNPHYSICAL = ("U_OUT_OF_RANGE", "OCCUPANCY_OUT_OF_RANGE")


def script(inputs: UncheckedObject) -> Generator[Sequence[Use], Sequence[ToolAnswer], UncheckedObject]:
    """Free limits and background first, then rung by rung what the counts allow; candidates last; then report.

    A cycle that goes wrong is undone and its groups tried one by one; those that fail are held. A phase that may be
    there is claimed from the recipe's significance on, and taken out of the model below it. Where the model misses more
    than the recipe lets it, no phase is claimed, however well it converged. Rungs that an engine cannot do are noted.
    Nothing is concluded from a picture: its numbers are quoted.
    """
    climb = Climb(_recipe(inputs))
    yield from _begin(climb)
    for rung in climb.recipe.rungs:
        yield from _rung(climb, rung)
    yield from _candidates(climb)
    result = yield from _reported(climb)
    while not result.ok and result.state > climb.state:  # it was refined on, to a state that nobody looked at
        climb.reached(result)
        if climb.last and not climb.claimed:
            yield from _sound(climb, *climb.last)
        result = yield from _reported(climb)
    if not result.ok:
        raise ValueError(f"no cycle came to a fit ({result.hint})")
    return report_words(result.report, climb)


def _reported(climb: Climb) -> Turns[ToolResult]:
    """Judge and look at the model as it stands, and ask for its report."""
    yield from _explains(climb)
    yield from _last_looks(climb)
    (result,) = yield from used(("report", {}))
    return result


def _recipe(inputs: UncheckedObject) -> Recipe:
    recipe = mapping(given(inputs, "recipe"), "recipe")
    faults = documents.faults(documents.Document(recipe, Path("recipe")), *RECIPE)
    if faults:
        raise ValueError(faults[0])
    return read(Recipe, recipe, "recipe")


def _begin(climb: Climb) -> Turns[None]:
    (project,) = yield from used(("project", {}))
    climb.begin(project)
    background = climb.recipe.background
    about: UncheckedObject = {"background": background.kind, "coefficients": background.count} if background else {}
    mains = [("phase", {"name": name}) for name in climb.main]
    answers = yield from used(("histogram", about), *mains)
    for result in answers:
        if not result.ok:
            raise ValueError(result.hint)


def _rung(climb: Climb, rung: Rung) -> Turns[None]:
    """Free its groups where the counts allow, refine, and undo what goes wrong."""
    name, groups = rung.name, list(rung.groups)
    if climb.counts < rung.least_counts:
        reason = f"{climb.counts:.3g} counts, and {rung.least_counts:.3g} are needed for it"
        yield from used(*(("hold", {"groups": [one], "reason": reason}) for one in groups))
        return
    origin = climb.state
    *_, result = yield from used(*rung.releases(), ("refine", {"label": name}))
    if result.ok and result.ended == "unfinished":
        (result,) = yield from used(("refine", {"label": f"{name} again"}))
    if result.ok:
        climb.reached(result)
        climb.last = rung, origin
        yield from _weights(climb)
        yield from _sound(climb, rung, origin)
    else:
        climb.last = None
        yield from _one_by_one(climb, name, groups, result.hint)
    if climb.recipe.plots and name in climb.recipe.plots.whole_after and climb.state:
        yield from _look()


def _one_by_one(climb: Climb, name: str, groups: list[str], why: str) -> Turns[None]:
    """Go back to the last good state, then free each group alone while tries are left; what fails is held."""
    climb.troubles.append(f"{name}: {why}")
    yield from _back(climb, groups, why)
    for group in groups if len(groups) > 1 else []:
        if climb.tries <= 0:
            return
        climb.tries -= 1
        *_, result = yield from used(("release", {"groups": [group]}), ("refine", {"label": f"{name}: {group} alone"}))
        if result.ok:
            climb.reached(result)
        else:
            yield from _back(climb, [group], result.hint)


def _back(climb: Climb, groups: list[str], why: str) -> Turns[None]:
    """Go back to the last good state; if none was reached yet, holding the groups is the way back."""
    back = [("roll_back", {"state": climb.state})] if climb.state else []
    yield from used(*back, *(("hold", {"groups": [group], "reason": why[:300]}) for group in groups))


def _weights(climb: Climb) -> Turns[None]:
    """Take weights from the fit's own counts from the first fit on: 1/observed counts pulls weak data down."""
    if climb.weighted or climb.counts >= climb.recipe.calculated_weights_below_counts:
        return
    climb.weighted = True
    results = yield from used(
        ("weights", {"kind": "calculated"}), ("refine", {"label": "weights"}), ("refine", {"label": "weights again"})
    )
    for one in results[1:]:
        if one.ok:
            climb.reached(one)


def _sound(climb: Climb, rung: Rung, origin: int) -> Turns[None]:
    """Undo a rung whose parameters left what is physical, or cannot be told from others: again without those."""
    recovery, groups = climb.recipe.recovery, list(rung.groups)
    if recovery is None:
        return
    diagnosed, residuals = yield from used(("diagnose", {}), ("residuals", {}))
    climb.worst = climb.state, residuals.worst
    wrong = [(str(one.parameter), one.message) for one in diagnosed.findings if one.code in UNPHYSICAL] + [
        (pair.second, f"{pair.first} and {pair.second} are correlated by {pair.value:.3f}")
        for pair in residuals.correlations
        if abs(pair.value) > recovery.correlation
    ]
    at_fault = [(parameter, why) for parameter, why in wrong if parameter.partition("/")[0] in groups]
    if not at_fault or climb.tries <= 0:
        return
    climb.tries -= 1
    climb.troubles += [why for _, why in at_fault]
    climb.state = origin
    alone = [(parameter, why) for parameter, why in at_fault if parameter.count("/") == ATOM]
    if alone:
        yield from _without_atoms(climb, rung, alone, origin)
        return
    group, why = at_fault[0][0].partition("/")[0], at_fault[0][1]
    yield from _back(climb, [group], why)
    others = [one for one in groups if one != group]
    if others:
        *_, result = yield from used(("release", {"groups": others}), ("refine", {"label": f"without {group}"}))
        if result.ok:
            climb.reached(result)


def _without_atoms(climb: Climb, rung: Rung, alone: list[tuple[str, str]], origin: int) -> Turns[None]:
    """Refine the rung again with the parameters of single atoms held, and the groups free for all others."""
    back = [("roll_back", {"state": origin})] if origin else []
    holds = []
    for parameter, why in alone:
        group, phase, atom = parameter.split("/")
        holds.append(("hold", {"groups": [group], "phase": phase, "atom": atom, "reason": why[:300]}))
    names = ", ".join(parameter for parameter, _ in alone)[:60]
    *_, result = yield from used(*back, *rung.releases(), *holds, ("refine", {"label": f"without {names}"}))
    if not result.ok:
        yield from _back(climb, list(rung.groups), result.hint)
        return
    climb.reached(result)
    yield from _sound(climb, rung, origin)


def _look() -> Turns[None]:
    (result,) = yield from used(("get_pattern_plot", {}))
    yield from used(("note", {"text": f"whole pattern: {result.hint}"[:600]}))


def _candidates(climb: Climb) -> Turns[None]:
    """Try each phase that may be there, alone: in the model, it is claimed; out of it again, it is not."""
    tests = climb.recipe.candidates
    if tests is None or not climb.state:
        return
    for name in climb.candidates:
        if climb.counts < tests.least_counts:
            climb.untested[name] = f"{climb.counts:.3g} counts are too few to test for it"
            continue
        results = yield from used(
            ("phase", {"name": name}),
            ("release", {"groups": ["scale"], "phase": name}),
            ("refine", {"label": f"test {name}"}),
        )
        significance = _significance(results[-1], name)
        climb.significances[name] = significance
        if significance is not None and significance >= tests.claim_significance:
            climb.claimed.append(name)
            climb.reached(results[-1])
            yield from used(("note", {"text": f"{name} stays: {significance:.1f} times its standard deviation"}))
        else:
            yield from used(("note", {"text": f"{name} is taken out: its scale does not reach what a claim needs"}))
            yield from used(("roll_back", {"state": climb.state}))


def _significance(result: ToolResult, name: str) -> float | None:
    return next(phase.significance for phase in result.phases if phase.name == name) if result.ok else None


def _explains(climb: Climb) -> Turns[None]:
    """Find what speaks against the phases as a whole: a misfit beyond counting, or a cell that left its structure."""
    bounds = climb.recipe.explains
    if bounds is None or not climb.state:
        return
    (result,) = yield from used(("diagnose", {}))
    climb.unexplained.clear()
    if not result.ok:
        raise ValueError(f"whether the phases explain the pattern cannot be told ({result.hint})")
    for key, bound, words in EXPLAINS:
        value, most = result.number(key), float(getattr(bounds, bound))
        if value > most:
            climb.unexplained.append(f"{words} {value:.2f} %, more than {most:g} %")
    if climb.unexplained:
        why = " and ".join(climb.unexplained)
        yield from used(("note", {"text": f"the phases given do not explain the pattern: {why}; none is claimed"}))


def _last_looks(climb: Climb) -> Turns[None]:
    """Look at the whole pattern once more, and at the windows where the model misses most."""
    if not climb.state or climb.recipe.plots is None:
        return
    yield from _look()
    state, worst = climb.worst
    windows = climb.recipe.plots.windows
    if state != climb.state and windows:
        (result,) = yield from used(("residuals", {}))
        worst = result.worst
    if worst := worst[:windows]:
        plots = [("get_zoomed_plot", {"low_deg": one.low_deg, "high_deg": one.high_deg}) for one in worst]
        plot_results = yield from used(*plots)
        text = "; ".join(one.hint for one in plot_results)
        yield from used(("note", {"text": f"worst windows: {text}; nothing more is freed for them"[:600]}))


answer = ToolUser(script)
