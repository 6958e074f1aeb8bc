"""The words of a refinement's report, from its numbers: what limits it, what it does not exclude, how sure it is."""

from collections.abc import Iterator, Mapping
from typing import Any

from sophron.agents.rule_based.refine_state import Climb

FEW_COUNTS_R_EXPECTED = 10.0
"""Per cent: above it noise hides a model's faults from its R factor (Toby 2006, 10.1154/1.2179804)."""
MISFIT = 2.0
GOOD = 1.3


def answer(fields: Mapping[str, Any], climb: Climb) -> dict[str, Any]:
    """A whole report: the tool's fields, the claims that the climb allows, and sentences about both."""
    phases = [{**one, "claimed": _is_claimed(one, climb)} for one in fields["phases"]]
    phases = [_with_significance(one, climb) for one in phases]
    made = {**fields, "phases": phases}
    return made | {
        "caveats": list(_caveats(made, climb)),
        "alternatives": list(_alternatives(made, climb)),
        "confidence": _confidence(made, climb),
        "summary": _summary(made),
    }


def _is_claimed(phase: Mapping[str, Any], climb: Climb) -> bool:
    """A fit that does not explain the pattern is no evidence for any phase in it."""
    return not climb.unexplained and (phase["claimed"] or phase["name"] in climb.claimed)


def _with_significance(phase: Mapping[str, Any], climb: Climb) -> dict[str, Any]:
    tested = climb.significances.get(phase["name"])
    return {**phase, "significance": phase["significance"] if tested is None else tested}


def _caveats(made: Mapping[str, Any], climb: Climb) -> Iterator[str]:
    fit = made["fit"]
    if climb.unexplained:
        why = " and ".join(climb.unexplained)
        yield f"The phases given do not explain the pattern: {why}. No fit of them is claimed."
    if fit["r_expected_percent"] > FEW_COUNTS_R_EXPECTED:
        yield (
            f"Counting statistics alone give an R factor of {fit['r_expected_percent']:.1f} %: a low Rwp cannot be "
            "expected of so few counts, and faults of the model may hide in the noise."
        )
    if fit["gof"] > MISFIT:
        yield f"The goodness of fit is {fit['gof']:.2f}: the model lacks something that the pattern shows."
    if not made["converged"]:
        yield "The last cycle did not converge."
    for held in made["held"]:
        if "counts" in held["reason"]:
            yield f"{held['group']} is held at its first value: {held['reason']}."
    yield from (f"Something went wrong on the way and was undone: {one[:400]}" for one in climb.troubles)
    yield from (f"{name} was not tested: {why}." for name, why in climb.untested.items())


def _alternatives(made: Mapping[str, Any], climb: Climb) -> Iterator[str]:
    about = climb.recipe.get("candidates", {})
    if climb.unexplained:
        yield "The sample is another phase, or another form of one that was given: index its lines, or search for them."
    for name, found in climb.significances.items():
        if name in climb.claimed and not climb.unexplained:
            yield f"Without {name} the model fits worse by what its scale is worth, {found:.1f} standard deviations."
        elif found is None:
            yield f"Whether {name} is there was not decided: its test came to no fit."
        elif found >= about["absent_below"]:
            yield f"Whether {name} is there is open: its scale is {found:.1f} standard deviations, too few for a claim."
    groups = {one["group"] for one in made["refined"]["groups"]}
    if "displacement" in groups:
        yield "A zero error instead of a displacement would shift the cell; both at once cannot be told apart."


def _confidence(made: Mapping[str, Any], climb: Climb) -> str:
    if made["fit"]["gof"] > MISFIT or not made["converged"] or climb.troubles or climb.unexplained:
        return "low"
    return (
        "high" if made["fit"]["gof"] < GOOD and made["fit"]["r_expected_percent"] <= FEW_COUNTS_R_EXPECTED else "medium"
    )


def _summary(made: Mapping[str, Any]) -> str:
    fit = made["fit"]
    there = ", ".join(one["name"] for one in made["phases"] if one["claimed"])
    claimed = f"Claimed phases: {there}." if there else "No phase is claimed: those given do not explain the pattern."
    freed = ", ".join(dict.fromkeys(one["group"] for one in made["refined"]["groups"]))
    return (
        f"{made['pattern']} was refined with {made['engine']} {made['engine_version']} from {fit['limits_deg'][0]:g} "
        f"to {fit['limits_deg'][1]:g} degrees: Rwp({fit['rwp_engine']}) {fit['rwp_percent']:.2f} %, expected "
        f"{fit['r_expected_percent']:.2f} %, goodness of fit {fit['gof']:.2f}. {claimed} Free were "
        f"{freed}: {made['refined']['count']} parameters."
    )
