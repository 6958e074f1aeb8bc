"""The question of a spec held against its kind: which quantity, in which unit, for which conditions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sophron.interfaces.kind import Question
from sophron.records import units
from sophron.records.errors import UserError, did_you_mean, shown
from sophron.records.units import UnitError

if TYPE_CHECKING:
    from sophron.campaign.spec.spec import Spec

_NUMBER = re.compile(r"\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*(?P<unit>.*?)\s*")


def declared(spec: Spec) -> Question | None:
    """Return what the kind says that this campaign can answer; None for a kind that says nothing."""
    if spec.kind.question is None:
        return None
    try:
        return spec.kind.question({stage.name: spec.definition(stage.name) for stage in spec.stages})
    except UserError as error:
        raise UserError(f"{spec.document.path}: {error}") from None


def check_names(spec: Spec) -> None:
    """Raise UserError, with file, line and remedy, for a quantity or condition that the kind does not know.

    And for a condition that is text if a number is needed. Numbers and names that are right cost nothing.
    """
    about = declared(spec)
    if about is None:
        return
    _quantity(spec, about)
    for name, value in spec.data["question"]["conditions"].items():
        _check_condition(spec, about, name, value)


def check_units(spec: Spec) -> None:
    """Raise UserError for units of another dimension than the quantity has. Reads units, so no step asks for it."""
    answer_unit(spec)


def answer_unit(spec: Spec) -> tuple[str, float]:
    """Return the unit in which answers are shown, and what a number of a result is multiplied by to be in it.

    UserError as for `check_units`: a number never gets the name of a unit that it is not in.
    """
    about = declared(spec)
    return spec.data["question"]["units"], 1.0 if about is None else 1.0 / _unit_of_answer(spec, about)


def quantity(spec: Spec) -> str:
    """Return the name that the kind gives to what is asked; the question's own words if the kind declares none."""
    about = declared(spec)
    return str(spec.data["question"]["quantity"]) if about is None else _quantity(spec, about)


def remark(spec: Spec) -> str:
    """Return what a reviewer must know of the units, as a sentence.

    Empty if results are in the units of the question.
    """
    about = declared(spec)
    if about is None:
        return "The kind does not say what it answers, so quantity, units and conditions are not checked."
    unit, asked = about.quantities[_quantity(spec, about)], spec.data["question"]["units"]
    if _unit_of_answer(spec, about) == 1:
        return ""
    unit = "pure numbers" if unit == units.NO_UNIT else f"in {unit}"
    return f"Results and criteria are {unit}; the answer is converted to {asked}, the units of any reference."


def _unit_of_answer(spec: Spec, about: Question) -> float:
    """How much of the result's unit the unit of the question is."""
    question = spec.data["question"]
    unit = about.quantities[_quantity(spec, about)]
    try:
        return units.factor(question["units"], unit, reduced=about.reduced)
    except UnitError as error:
        raise UserError(f"{_where(spec, 'units')}: {error}; write {unit}, or another unit of that dimension") from None


def _quantity(spec: Spec, about: Question) -> str:
    """The name that the kind gives to what is asked."""
    asked = spec.data["question"]["quantity"]
    plain = " ".join(asked.split()).lower()
    for name in about.quantities:
        if plain == name.lower() or plain.startswith(f"{name.lower()} of "):
            return name
    hint = did_you_mean(plain, about.quantities, "it answers")
    told = f'the kind {spec.kind.name} does not answer "{shown(asked)}"'
    raise UserError(f"{_where(spec, 'quantity')}: {told}; {hint}")


def _check_condition(spec: Spec, about: Question, name: str, value: Any) -> None:
    where = _where(spec, "conditions", name)
    if name not in about.conditions:
        hint = did_you_mean(name, about.conditions, "known are")
        raise UserError(f"{where}: the kind {spec.kind.name} has no such condition; {hint}")
    unit = about.conditions[name]
    if unit is not None and isinstance(value, str):
        raise UserError(f"{where}: {_no_number(value, unit, reduced=about.reduced)}")


def _no_number(text: str, unit: str, *, reduced: bool) -> str:
    """Why text cannot be a condition that numbers are compared with, and the number to write for it."""
    wanted = "a pure number" if unit == units.NO_UNIT else f"a number in {unit}"
    match = _NUMBER.fullmatch(text)
    if match is None:
        return f'"{shown(text)}" is not a number; write {wanted}'
    try:
        number = units.converted(float(match["number"]), match["unit"] or unit, unit, reduced=reduced)
    except UnitError as error:
        return f"{error}; write {wanted}"
    return f'"{shown(text)}" is text, which nothing is compared with; write {number:.10g}, {wanted}'


def _where(spec: Spec, *keys: str) -> str:
    return spec.document.where(["question", *keys])
