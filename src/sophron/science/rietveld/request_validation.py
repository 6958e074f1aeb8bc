"""Whether a request can be met and makes sense, before an engine is asked: one sentence if not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import get_args

from sophron.interfaces.rietveld import Background, Capabilities, Group, Instrument, Request, Setup, State
from sophron.records.errors import UserError, shown
from sophron.science.rietveld.pattern import check as check_pattern

GROUPS: tuple[Group, ...] = get_args(Group)
SHORTEST_ANGSTROM, LONGEST_ANGSTROM = 0.1, 5.0
FEWEST_POINTS = 50


def check_request(request: Request, state: State, engine: str, has: Capabilities) -> None:
    """Raise UserError for what `engine` does not have, and for freeing zero and displacement on one way."""
    if not request.free:
        raise UserError("nothing is free in this cycle; name at least one group, such as scale")
    for freed in request.free:
        _check_group(freed.group, engine, has)
        if freed.atom is not None and freed.phase is None:
            raise UserError(f'atom "{shown(freed.atom)}" is free without its phase; name the phase too')
    if request.background is not None:
        _check_background(request.background, engine, has)
    for name, value in request.values.items():
        if not math.isfinite(value):
            raise UserError(f"values: {value} for {shown(name)} is not finite; give a number")
    if not request.limit_s > 0 or request.cycles < 1:
        raise UserError(f"a cycle of {request.cycles} iterations in {request.limit_s:g} s is none; give at least one")
    check_pair((freed.group for freed in request.free), state.moved)


def _check_group(group: str, engine: str, has: Capabilities) -> None:
    if group not in GROUPS:
        raise UserError(f'"{shown(group)}" is nothing that can be free; known are {", ".join(GROUPS)}')
    if group not in has.groups:
        why = has.lacks.get(group, "it does not have it")
        raise UserError(f"{engine} cannot refine {group}: {why}; hold it")


def check_pair(free: Iterable[Group], moved: Iterable[Group]) -> None:
    """Raise UserError if zero and displacement are both free, or one is after the other was.

    Both shift lines, by a constant and by cos(theta): together they fit better, and the cell goes wrong. Fluorapatite:
    a lower Rwp and a cell that is hundreds of ppm off. One after the other comes to the same. free: in this cycle;
    moved: on the way to it. Who judges a finished trajectory asks this of each of its cycles.
    """
    now, before = set(free), set(moved)
    if {"zero", "displacement"} <= now:
        raise UserError("zero and displacement are both free: Rwp falls while the cell goes wrong; free one of them")
    pairs: tuple[tuple[Group, Group], ...] = (("zero", "displacement"), ("displacement", "zero"))
    for late, early in pairs:
        if late in now and early in before:
            raise UserError(
                f"{late} is free after {early} was: the two together make the cell wrong while Rwp falls; "
                f"hold {late}, or roll back to a state from before {early}"
            )


def check_setup(setup: Setup, engine: str, has: Capabilities) -> tuple[float, float]:
    """Raise UserError for a setup that cannot be; the limits that hold, in degrees."""
    check_pattern(setup.pattern)
    if not setup.phases:
        raise UserError("phases: there is none; give at least one CIF")
    names = [phase.name for phase in setup.phases]
    for name in names:
        if names.count(name) > 1 or not name or "/" in name:
            raise UserError(f'phases: "{shown(name)}" is no name for one phase; give each its own, without "/"')
    _check_instrument(setup.instrument, engine, has)
    _check_background(setup.background, engine, has)
    return _limits(setup)


def _check_instrument(instrument: Instrument, engine: str, has: Capabilities) -> None:
    for key, value in asdict(instrument).items():
        if isinstance(value, float) and not math.isfinite(value):
            raise UserError(f"instrument.{key}: {value} is not finite; give a number")
    if instrument.geometry not in has.geometries:
        raise UserError(f"instrument.geometry: {engine} has no {shown(instrument.geometry)}; use another engine")
    if instrument.radiation not in has.radiations:
        raise UserError(f"instrument.radiation: {engine} has no {shown(instrument.radiation)}; use another engine")
    _check_lines(instrument, engine, has)
    if not instrument.radius_mm > 0:
        raise UserError(f"instrument.radius_mm: {instrument.radius_mm:g} is no radius; give millimetres above 0")
    if not 0 <= instrument.polarization <= 1:
        raise UserError(f"instrument.polarization: {instrument.polarization:g} is no share; give 0 to 1")


def _check_lines(instrument: Instrument, engine: str, has: Capabilities) -> None:
    lines = instrument.wavelengths_angstrom
    if instrument.radiation == "neutron" and len(lines) != 1:
        raise UserError(f"instrument.wavelengths_angstrom: {len(lines)} lines; neutrons of one wavelength have 1")
    if not 1 <= len(lines) <= has.wavelengths:
        raise UserError(f"instrument.wavelengths_angstrom: {len(lines)} lines; {engine} takes 1 to {has.wavelengths}")
    for line in lines:
        if not SHORTEST_ANGSTROM <= line <= LONGEST_ANGSTROM:
            raise UserError(
                f"instrument.wavelengths_angstrom: {line:g} is none of powder diffraction; "
                f"give angstroms between {SHORTEST_ANGSTROM} and {LONGEST_ANGSTROM}"
            )
    if len(lines) == 2 and not lines[0] < lines[1] < 1.02 * lines[0]:
        raise UserError("instrument.wavelengths_angstrom: not a doublet; give K-alpha 1 first, then K-alpha 2")


def _check_background(background: Background, engine: str, has: Capabilities) -> None:
    if not math.isfinite(background.start):
        raise UserError(f"background.start: {background.start} is not finite; give counts")
    most = has.backgrounds.get(background.kind)
    if most is None:
        known = ", ".join(has.backgrounds)
        raise UserError(f'background.kind: {engine} has no "{shown(background.kind)}"; it has {known}')
    if not 1 <= background.count <= most:
        raise UserError(f"background.count: {background.count} coefficients; {engine} takes 1 to {most}")


def _limits(setup: Setup) -> tuple[float, float]:
    x = setup.pattern.two_theta_deg
    low, high = setup.limits_deg or (float(x[0]), float(x[-1]))
    left = (x >= low) & (x <= high)
    for begin, end in setup.excluded_deg:
        if not begin < end:
            raise UserError(f"excluded_deg: {begin:g} to {end:g} is no range; give the lower angle first")
        left &= (x < begin) | (x > end)
    if int(left.sum()) < FEWEST_POINTS:
        raise UserError(
            f"limits_deg: {low:g} to {high:g} leaves {int(left.sum())} points of {shown(setup.pattern.name)}; "
            f"leave at least {FEWEST_POINTS}"
        )
    return low, high
