"""Rule of thumb of the meta-optimizer: from the judge's faults to one edit of the agent's recipe.

It reads the feedback of the judge and the recipe as it is, neither the knowledge base nor any reference; the edits
stand first. Where a fault has no edit, it has nothing to say.
"""

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import yaml

from sophron.agents.rule_based.input_checks import given, listed, mapping, number, objects, quoted, read, text
from sophron.interfaces import UncheckedObject
from sophron.records.errors import UserError
from sophron.records.strict_yaml import parse

Recipe = dict[str, Any]
"""A recipe while it is edited: as its file has it, in the order of its file."""


@dataclass(frozen=True)
class Fault:
    """What the judge found in one case. counts: of its pattern; wanted: windows that should have been looked at."""

    code: str
    case: str
    group: str | None = None
    role: str | None = None
    counts: float | None = None
    wanted: int = 0


Faults = Sequence[Fault]
"""Those of one code, of all cases that have one."""
Counts = Mapping[str, float]
"""Case -> counts of its pattern, of all cases that were judged."""

ORDER = (
    ("scale", "background"),
    ("cell", "displacement", "zero"),
    ("size", "profile_x"),
    ("strain", "profile_w", "profile_u", "profile_v", "profile_y"),
    ("position",),
    ("u_iso", "preferred_orientation", "absorption"),
    ("occupancy",),
)
"""What may be freed together, in this order."""
MORE, LESS = 1.25, 0.9
"""Counts a quarter above where something was too much, a tenth below where it was missed."""
CLAIM, ABSENT = 5.0, 3.0
"""Deviations of a scale from which a phase may be claimed, and below which nothing speaks for it."""
EXPLAINS = {"misfit_percent": 20.0, "cell_percent": 0.5}
"""Per cent: measured patterns of the right phase miss some ten beyond counting; heat and solid solution move an edge by
some tenths."""
FIRST_RECOVERY = {"tries": 4, "correlation": 0.98}


def place(group: str) -> int:
    """Return where in the order a group stands; the end for one that is not known."""
    return next((number for number, groups in enumerate(ORDER) if group in groups), len(ORDER))


def rungs(recipe: Recipe) -> list[Recipe]:
    """Return the rungs of a recipe; an empty one frees scale and background."""
    ladder: list[Recipe] = recipe.setdefault("rungs", [{"name": "scale", "groups": list(ORDER[0])}])
    return ladder


def _alone(recipe: Recipe, group: str) -> Recipe:
    """Return the rung that holds this group and no other, made where it has none; in its place in the order."""
    for rung in rungs(recipe):
        if rung["groups"] == [group]:
            return rung
        if group in rung["groups"]:
            rung["groups"].remove(group)
    made: Recipe = {"name": group.replace("_", " "), "groups": [group]}
    later = [number for number, rung in enumerate(rungs(recipe)) if place(rung["groups"][0]) > place(group)]
    recipe["rungs"].insert(later[0] if later else len(recipe["rungs"]), made)
    return made


def sound_from(faults: Faults, counts: Counts) -> float | None:
    """Return the counts from which a thing is done that was a fault at fewer: the least at which it was not.

    Between the two nobody knows, and the constrained model is the safe one; where no richer pattern was judged, a
    quarter above the fault. None if no fault says its counts.
    """
    bad = [fault.counts for fault in faults if fault.counts]
    if not bad:
        return None
    cases = {fault.case for fault in faults}
    fine = [value for case, value in counts.items() if case not in cases and value > max(bad)]
    return _rounded_down(min(fine) if fine else MORE * max(bad))


def free_missed(recipe: Recipe, faults: Faults, _: Counts) -> None:
    """Give a rung to a group that was never free; one that was held for its counts needs fewer of them."""
    for group in _groups(faults):
        counts = [fault.counts for fault in faults if fault.group == group and fault.counts]
        rung = _alone(recipe, group)
        if "least_counts" in rung and counts:
            rung["least_counts"] = _rounded_down(LESS * min(counts))


def hold_beyond(recipe: Recipe, faults: Faults, counts: Counts) -> None:
    """Demand more counts of a group that was free at too few; without known counts it is not freed any more."""
    for group in _groups(faults):
        least = sound_from([fault for fault in faults if fault.group == group], counts)
        rung = _alone(recipe, group)
        if least is not None:
            rung["least_counts"] = max(rung.get("least_counts", 0), least)
        else:
            rungs(recipe).remove(rung)


def order(recipe: Recipe, _: Faults, __: Counts) -> None:
    """Sort rungs into the order in which anything is ever freed; what stood in one and belongs apart comes apart."""
    for rung in list(rungs(recipe)):
        for group in list(rung["groups"]):
            if place(group) != place(rung["groups"][0]):
                _alone(recipe, group)
    recipe["rungs"].sort(key=lambda rung: place(rung["groups"][0]))


def weigh(recipe: Recipe, faults: Faults, counts: Counts) -> None:
    """Take variances from calculated counts up to where observed ones are known to be right too."""
    below = sound_from(faults, counts)
    if below is not None:
        recipe["calculated_weights_below_counts"] = max(recipe.get("calculated_weights_below_counts", 0), below)


def look(recipe: Recipe, faults: Faults, _: Counts) -> None:
    """Look at the whole pattern after each rung, and at as many windows in the end as were asked for."""
    wanted = max([fault.wanted for fault in faults], default=0)
    before = recipe.get("plots", {}).get("windows", 0)
    recipe["plots"] = {"whole_after": [rung["name"] for rung in rungs(recipe)], "windows": max(before, wanted, 2)}


def claim(recipe: Recipe, faults: Faults, counts: Counts) -> None:
    """Set bounds to a main phase that was claimed and is not there; those of candidates have another rule."""
    mains = [fault for fault in faults if fault.role == "main"]
    before = recipe.get("explains")
    if mains and before is None:
        recipe["explains"] = dict(EXPLAINS)
    elif mains and before is not None:
        factor = MORE if mains[0].code == "phase_missed" else LESS
        recipe["explains"] = {key: _rounded_down(factor * bound) for key, bound in before.items()}
    others = [fault for fault in faults if fault.role != "main"]
    if others:
        try_candidates(recipe, others, counts)


def try_candidates(recipe: Recipe, faults: Faults, _: Counts) -> None:
    """Test phases that may be there; if that claimed too much, a claim needs more."""
    before = recipe.get("candidates")
    if before is None:
        recipe["candidates"] = {"claim_significance": CLAIM, "absent_below": ABSENT}
    elif any(fault.code != "phase_missed" for fault in faults):
        before["claim_significance"] = _rounded_down(MORE * before["claim_significance"])


def recover(recipe: Recipe, faults: Faults, counts: Counts) -> None:
    """Undo what goes wrong and try it apart; if that is done already, with more tries."""
    before = recipe.get("recovery")
    recipe["recovery"] = dict(FIRST_RECOVERY) if before is None else {**before, "tries": min(20, 2 * before["tries"])}
    if before is not None:
        hold_beyond(recipe, [fault for fault in faults if fault.group], counts)


def go_further(recipe: Recipe, _: Faults, __: Counts) -> None:
    """Free the first group in the order that the recipe does not free yet."""
    known = {group for rung in rungs(recipe) for group in rung["groups"]}
    further = [groups[0] for groups in ORDER if not known & set(groups)]
    if further:
        _alone(recipe, further[0])


def do_less(recipe: Recipe, _: Faults, __: Counts) -> None:
    """Take fewer looks and fewer tries."""
    if "plots" in recipe:
        recipe["plots"] = {**recipe["plots"], "whole_after": recipe["plots"]["whole_after"][-1:]}
    if "recovery" in recipe:
        recipe["recovery"] = {**recipe["recovery"], "tries": recipe["recovery"]["tries"] // 2}


EDITS: Mapping[str, Callable[[Recipe, Faults, Counts], None]] = {
    "freed_short": free_missed,
    "freed_beyond": hold_beyond,
    "variables_many": hold_beyond,
    "released_early": order,
    "weights": weigh,
    "plot_whole_absent": look,
    "plot_windows_few": look,
    "plot_unused": look,
    "plots_absent": look,
    "decisions_absent": look,
    "phase_missed": claim,
    "phase_overclaimed": claim,
    "claim_insignificant": try_candidates,
    "failure_repeated": recover,
    "failure_kept": recover,
    "failure_reported": recover,
    "failure_untold": recover,
    "value_impossible": recover,
    "value_undetermined": recover,
    "fit_unconverged": recover,
    "fit_beyond": go_further,
    "cell_impossible": go_further,
    "call_repeated": do_less,
    "cycle_repeated": do_less,
    "calls_many": do_less,
}
"""Code of a fault -> how a recipe is changed for it."""


def edited(recipe: UncheckedObject, codes: Mapping[str, Faults], counts: Counts) -> Recipe:
    """Change a recipe for faults by code; empty rungs are left out, and the whole pattern is looked at after all."""
    changed: Recipe = deepcopy(dict(recipe))
    for code, faults in codes.items():
        EDITS[code](changed, faults, counts)
    if "rungs" in changed:
        changed["rungs"] = [rung for rung in changed["rungs"] if rung["groups"]]
        if "plots" in changed:
            changed["plots"]["whole_after"] = [rung["name"] for rung in changed["rungs"]][-1:] or []
    return changed


def _groups(faults: Faults) -> list[str]:
    return sorted({str(fault.group) for fault in faults if fault.group}, key=lambda one: (place(one), one))


def _rounded_down(value: float) -> float:
    """Round down to three digits: a threshold that was found by trying is not known better."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{math.floor(value / step) * step:.3g}")


RECIPE = "recipe.yaml"
HEAD = "# What the agent knows: written by its build, from what the judge found.\n"


@dataclass(frozen=True)
class CheckedFault:
    """A fault that a check found, and what it is about."""

    code: str
    about: Mapping[str, object]


@dataclass(frozen=True)
class Computed:
    """What a check says of a dimension. numbers: what it counted."""

    faults: tuple[CheckedFault, ...]
    numbers: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class JudgedDimension:
    """One dimension of a scorecard."""

    code: str
    passed: bool
    computed: Computed | None


@dataclass(frozen=True)
class Screening:
    """Whether there was something to judge; why not."""

    passed: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Scorecard:
    """What the judge says of one case."""

    case: str
    dimensions: tuple[JudgedDimension, ...]
    screening: Screening | None = None


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Cure the dimension that is missed in most cases; the way before its result, for a wrong way explains it.

    An edit that was made before and did not help is passed over. One purpose a change, as AgentBuild's trail wants it:
    every diff can then be told by what it was for (section II-C).
    """
    files = mapping(given(inputs, "agent"), "agent")
    before = text(files.get(RECIPE, ""), RECIPE)
    recipe = _recipe(before)
    diffs = {text(one.get("diff", ""), "diff") for one in objects(given(inputs, "history"), "history")}
    cards = [read(Scorecard, card, "a scorecard") for card in listed(given(inputs, "scorecards"), "scorecards")]
    unknown: set[str] = set()
    for code, cases in _missed(cards):
        faults = _faults(cards, code)
        unknown |= faults.keys() - EDITS.keys()
        curable = {name: about for name, about in faults.items() if name in EDITS}
        if not curable:
            continue
        diff = _diff(before, HEAD + _dumped(edited(recipe, curable, _counts(cards))))
        if diff and diff not in diffs:
            codes = ", ".join(sorted(curable))
            why = f"{code} is missed in {cases} of {len(cards)} cases; the judge found {codes}."
            return {"rationale": why, "targets": [code], "diff": diff}
    return {"rationale": _nothing(cards, unknown), "targets": [], "diff": ""}


def _nothing(cards: list[Scorecard], unknown: set[str]) -> str:
    """Say why nothing is changed. unknown: codes of faults that no edit is known for."""
    reasons = [card.screening.reasons for card in cards if card.screening and not card.screening.passed]
    if cards and len(reasons) == len(cards):
        return quoted(f"No case came to a report that can be judged: {'; '.join(reasons[0])}")
    if not unknown:
        return "No fault that was found has an edit that was not tried."
    return (
        f"Rules of thumb have no edit for {', '.join(sorted(unknown))}: they know faults of refinements alone. "
        "A model has to answer as optimize."
    )


def _recipe(source: str) -> UncheckedObject:
    try:
        data, _ = parse(source.encode(), RECIPE)
    except UserError as error:
        raise ValueError(str(error)) from None
    return dict(mapping(data or {}, RECIPE))


def _missed(cards: list[Scorecard]) -> Iterator[tuple[str, int]]:
    """Yield dimensions by how many cases miss them, trajectory before output where they are equal."""
    counts: dict[str, int] = {}
    for card in cards:
        for dimension in card.dimensions:
            counts[dimension.code] = counts.get(dimension.code, 0) + (not dimension.passed)
    missed = [(code, count) for code, count in counts.items() if count]
    yield from sorted(missed, key=lambda one: (-one[1], not one[0].startswith("T"), one[0]))


def _faults(cards: list[Scorecard], code: str) -> dict[str, list[Fault]]:
    """Map the code of a fault to what each is about, over all cases that miss a dimension."""
    faults: dict[str, list[Fault]] = {}
    for card in cards:
        for dimension in card.dimensions:
            if dimension.code == code and not dimension.passed and dimension.computed:
                for fault in dimension.computed.faults:
                    about = {**fault.about, "code": fault.code, "case": card.case}
                    faults.setdefault(fault.code, []).append(read(Fault, about, "a fault"))
    return faults


def _counts(cards: list[Scorecard]) -> dict[str, float]:
    """Map each case to the counts of its pattern, if a check said them."""
    counts = {}
    for card in cards:
        for dimension in card.dimensions:
            counted = number(dimension.computed.numbers.get("counts")) if dimension.computed else None
            if counted is not None:
                counts[card.case] = float(counted)
    return counts


def _dumped(recipe: UncheckedObject) -> str:
    return yaml.safe_dump(dict(recipe), sort_keys=False, default_flow_style=None, width=110)


def _diff(before: str, after: str) -> str:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(old, new, f"a/{RECIPE}", f"b/{RECIPE}"))
