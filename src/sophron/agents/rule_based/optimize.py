"""Rule of thumb of the meta-optimizer: from the judge's faults to one edit of the agent's recipe.

It reads the feedback of the judge and the recipe as it is, neither the knowledge base nor any reference; the edits
stand in `optimize_recipe`. Where a fault has no edit, it has nothing to say.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from sophron.agents.rule_based import optimize_recipe
from sophron.agents.rule_based.input_checks import given, mapping, objects, text
from sophron.records.errors import UserError
from sophron.records.strict_yaml import parse

RECIPE = "recipe.yaml"
HEAD = "# What the agent knows: written by its build, from what the judge found.\n"


def answer(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Cure the dimension that is missed in most cases; the way before its result, for a wrong way explains it.

    An edit that was made before and did not help is passed over. One purpose a change, as AgentBuild's trail wants it:
    every diff can then be told by what it was for (section II-C).
    """
    files = mapping(given(inputs, "agent"), "agent")
    before = text(files.get(RECIPE, ""), RECIPE)
    recipe = _recipe(before)
    tried = {text(one.get("diff", ""), "diff") for one in objects(given(inputs, "history"), "history")}
    cards = objects(given(inputs, "scorecards"), "scorecards")
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


def _recipe(written: str) -> dict[str, Any]:
    try:
        data, _ = parse(written.encode(), RECIPE)
    except UserError as error:
        raise ValueError(str(error)) from None
    return dict(mapping(data or {}, RECIPE))


def _missed(cards: list[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """Dimensions by how many cases miss them, trajectory before output where they are equal."""
    counts: dict[str, int] = {}
    for card in cards:
        for one in objects(card["dimensions"], "dimensions"):
            counts[one["code"]] = counts.get(one["code"], 0) + (not one["passed"])
    missed = [(code, count) for code, count in counts.items() if count]
    yield from sorted(missed, key=lambda one: (-one[1], not one[0].startswith("T"), one[0]))


def _faults(cards: list[Mapping[str, Any]], code: str) -> dict[str, list[Mapping[str, Any]]]:
    """Code of a fault -> what each is about, over all cases that miss a dimension."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for card in cards:
        for one in objects(card["dimensions"], "dimensions"):
            if one["code"] == code and not one["passed"] and one["computed"]:
                for fault in objects(one["computed"]["faults"], "faults"):
                    about = mapping(fault["about"], "about")
                    found.setdefault(text(fault["code"], "code"), []).append(
                        {**about, "code": fault["code"], "case": card["case"]}
                    )
    return found


def _counts(cards: list[Mapping[str, Any]]) -> dict[str, float]:
    """Case -> counts of its pattern, where a check said them."""
    found = {}
    for card in cards:
        for one in objects(card["dimensions"], "dimensions"):
            counts = (one["computed"] or {}).get("numbers", {}).get("counts")
            if counts is not None:
                found[text(card["case"], "case")] = float(counts)
    return found


def _dumped(recipe: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(recipe), sort_keys=False, default_flow_style=None, width=110)


def _diff(before: str, after: str) -> str:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(old, new, f"a/{RECIPE}", f"b/{RECIPE}"))
