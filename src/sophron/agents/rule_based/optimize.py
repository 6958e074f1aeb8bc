"""Rule of thumb of the meta-optimizer: from the judge's faults to one edit of the agent's recipe.

It reads the feedback of the judge and the recipe as it is, neither the knowledge base nor any reference; the edits
stand in `optimize_recipe`. Where a fault has no edit, it has nothing to say.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import yaml

from sophron.agents.rule_based import optimize_recipe
from sophron.agents.rule_based.input_checks import given, listed, mapping, number, objects, read, text
from sophron.agents.rule_based.optimize_recipe import Fault
from sophron.interfaces import UncheckedObject
from sophron.records.errors import UserError
from sophron.records.strict_yaml import parse

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
class Scorecard:
    """What the judge says of one case."""

    case: str
    dimensions: tuple[JudgedDimension, ...]


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Cure the dimension that is missed in most cases; the way before its result, for a wrong way explains it.

    An edit that was made before and did not help is passed over. One purpose a change, as AgentBuild's trail wants it:
    every diff can then be told by what it was for (section II-C).
    """
    files = mapping(given(inputs, "agent"), "agent")
    before = text(files.get(RECIPE, ""), RECIPE)
    recipe = _recipe(before)
    tried = {text(one.get("diff", ""), "diff") for one in objects(given(inputs, "history"), "history")}
    cards = [read(Scorecard, card, "a scorecard") for card in listed(given(inputs, "scorecards"), "scorecards")]
    for code, cases in _missed(cards):
        faults = _faults(cards, code)
        curable = {name: about for name, about in faults.items() if name in optimize_recipe.EDITS}
        if not curable:
            continue
        diff = _diff(before, HEAD + _dumped(optimize_recipe.edited(recipe, curable, _counts(cards))))
        if diff and diff not in tried:
            found = ", ".join(sorted(curable))
            why = f"{code} is missed in {cases} of {len(cards)} cases; the judge found {found}."
            return {"rationale": why, "targets": [code], "diff": diff}
    return {"rationale": "No fault that was found has an edit that was not tried.", "targets": [], "diff": ""}


def _recipe(written: str) -> UncheckedObject:
    try:
        data, _ = parse(written.encode(), RECIPE)
    except UserError as error:
        raise ValueError(str(error)) from None
    return dict(mapping(data or {}, RECIPE))


def _missed(cards: list[Scorecard]) -> Iterator[tuple[str, int]]:
    """Dimensions by how many cases miss them, trajectory before output where they are equal."""
    counts: dict[str, int] = {}
    for card in cards:
        for dimension in card.dimensions:
            counts[dimension.code] = counts.get(dimension.code, 0) + (not dimension.passed)
    missed = [(code, count) for code, count in counts.items() if count]
    yield from sorted(missed, key=lambda one: (-one[1], not one[0].startswith("T"), one[0]))


def _faults(cards: list[Scorecard], code: str) -> dict[str, list[Fault]]:
    """Code of a fault -> what each is about, over all cases that miss a dimension."""
    faults: dict[str, list[Fault]] = {}
    for card in cards:
        for dimension in card.dimensions:
            if dimension.code == code and not dimension.passed and dimension.computed:
                for fault in dimension.computed.faults:
                    about = {**fault.about, "code": fault.code, "case": card.case}
                    faults.setdefault(fault.code, []).append(read(Fault, about, "a fault"))
    return faults


def _counts(cards: list[Scorecard]) -> dict[str, float]:
    """Case -> counts of its pattern, where a check said them."""
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
