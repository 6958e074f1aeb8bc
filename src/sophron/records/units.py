"""Units in documents, read and converted by pint: those of the SI and its neighbours, or reduced Lennard-Jones units.

Importing pint and its units costs a third of a CPU second, so two equal spellings never reach it.
"""

import re
from functools import cache
from typing import TYPE_CHECKING

from sophron.records.errors import shown

if TYPE_CHECKING:
    from pint import Unit, UnitRegistry

NO_UNIT = "none"
LJ = "LJ"
_REDUCED = (
    "sigma = [length] = \N{GREEK SMALL LETTER SIGMA}",
    "epsilon = [energy] = \N{GREEK SMALL LETTER EPSILON}",
    "tau = [time] = \N{GREEK SMALL LETTER TAU}",
    "k_B = []",
    "m = epsilon * tau ** 2 / sigma ** 2",
)
"""Boltzmann's constant is 1, so that a temperature is an energy; the mass follows from the other three."""
_REMARK = re.compile(r"(?P<unit>.*[^\s*/^(])\s+\((?P<remark>[^()]*)\)")
_POWER = re.compile(r"(?:\^|\*\*)\s*[-+]?\d{1,2}(?:\.\d{1,2})?(?!\s*\^|\s*\*\*|[\w.⁺⁻])")
_PLAIN_POWER = re.compile(r"(?<=[^\W\d_])(?=-?\d{1,2}(?!\w))")  # as in `W m-1 K-1` and `g/cm3`
_NAMES = re.compile(r"(?:[^\W\d][\w⁺⁻]*|[%°]|1(?!\w)|(?<!\*)\*(?!\*)|[\s/()·])*")
_MOST = 60


class UnitError(ValueError):
    """A clause of a sentence that says what is wrong with a unit."""


def converted(value: float, given: str, wanted: str, *, reduced: bool) -> float:
    """Return `value`, in the unit `given`, as a number in `wanted`; reduced: both are Lennard-Jones units.

    A unit may end in a remark in parentheses, `(LJ)` or a standard state, if `wanted` has the same. UnitError for text
    that is not a unit, a unit that the system does not know, another dimension, and another remark.
    """
    (unit, remark), (aim, expected) = _parts(given), _parts(wanted)
    if remark and remark != expected:
        raise UnitError(f'"{shown(given)}" ends in "({shown(remark)})", and {shown(wanted)} does not')
    if unit == aim:
        return value
    registry = _registry(reduced)
    found, wished = _unit(registry, unit), _unit(registry, aim)
    if found.dimensionality != wished.dimensionality:
        raise UnitError(f'"{shown(given)}" does not have the dimension of {shown(wanted)}')
    try:
        return float(registry.Quantity(value, found).to(wished).magnitude)
    except OverflowError:
        raise UnitError(f'"{shown(given)}" is too far from {shown(wanted)}') from None


def factor(given: str, wanted: str, *, reduced: bool) -> float:
    """Return what numbers in `given` are multiplied by to be in `wanted`.

    UnitError, for scales with another zero too.
    """
    if converted(0.0, given, wanted, reduced=reduced):
        raise UnitError(f'"{shown(given)}" counts from another zero than {shown(wanted)}')
    times = converted(1.0, given, wanted, reduced=reduced)
    if not 1e-200 < times < 1e200:
        raise UnitError(f'"{shown(given)}" is too far from {shown(wanted)}')
    return times


def _parts(text: str) -> tuple[str, str]:
    """Unit and remark of `epsilon tau sigma^-3 (LJ)`, which may be written `LJ (epsilon tau sigma^-3)`."""
    plain = " ".join(text.split())
    match = _REMARK.fullmatch(plain)
    if match is None:
        return plain, ""
    unit, remark = match["unit"], match["remark"].strip()
    return (remark, unit) if unit == LJ else (unit, remark)


@cache
def _registry(reduced: bool) -> "UnitRegistry[float]":  # noqa: FBT001 - a key of the cache
    import pint

    if not reduced:
        return pint.UnitRegistry()
    registry: UnitRegistry[float] = pint.UnitRegistry(None)
    for line in _REDUCED:
        registry.define(line)
    return registry


def _unit(registry: "UnitRegistry[float]", text: str) -> "Unit":
    """What pint makes of `text`, which is names, products, quotients and small powers: pint would compute 9^9^9."""
    import pint

    if text == NO_UNIT:
        return registry.parse_units("")
    powers = _PLAIN_POWER.sub("^", text)
    if not text or len(text) > _MOST or not _NAMES.fullmatch(_POWER.sub("", powers)):
        raise UnitError(f'"{shown(text)}" cannot be read as a unit')
    try:
        return registry.parse_units(powers)
    except pint.UndefinedUnitError as error:
        unknown = ", ".join([error.unit_names] if isinstance(error.unit_names, str) else error.unit_names)
        raise UnitError(f'"{shown(text)}" has an unknown unit, {shown(unknown)}') from None
    except Exception:  # noqa: BLE001 - its parser fails in many ways (tokenizer, syntax, types), all of which mean this
        raise UnitError(f'"{shown(text)}" cannot be read as a unit') from None
