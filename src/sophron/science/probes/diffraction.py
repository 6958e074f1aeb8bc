"""Probes of powder patterns: the question's radiation and geometry are the instrument's, whose peaks have a width."""

import math

from sophron.interfaces.probe import Finding
from sophron.science.probes.spec_access import (
    MissingValueError,
    Parameters,
    Spec,
    clear,
    hit,
    needed,
    number,
    value,
    wanted,
)

_INSTRUMENT = "stages.data.definition.instrument"
_PARAMETER = "stages.compare.definition.parameter"


def instrument(spec: Spec, parameters: Parameters) -> Finding:
    """Check that radiation, wavelengths and geometry of the instrument are those that question.conditions names.

    parameters.lines: element of a tube -> K-alpha 1 in angstrom; parameters.tolerance: relative.
    """
    wave = number(spec, f"{_INSTRUMENT}.wavelengths_angstrom.0")
    if wave is None:
        return MissingValueError(f"{_INSTRUMENT}.wavelengths_angstrom.0").finding
    named = str(value(spec, "question.conditions.radiation"))
    words, there = named.split(), value(spec, f"{_INSTRUMENT}.radiation") or "xray"
    if ("neutron" in named.lower()) != (there == "neutron") and named != "None":
        return hit(f"question.conditions.radiation is {named}, {_INSTRUMENT}.radiation is {there}")
    if words[-1:] == ["K-alpha"] and number(spec, f"{_INSTRUMENT}.wavelengths_angstrom.1") is None:
        return hit(f"question.conditions.radiation is {named}, two lines, and {_INSTRUMENT} has one wavelength")
    for element, line in wanted(parameters, "lines").items():
        if element in words and abs(wave - line) > wanted(parameters, "tolerance") * line:
            return hit(f"question.conditions.radiation is of {element} ({line:g} angstrom), the wavelength {wave:g}")
    asked = value(spec, "question.conditions.geometry")
    there = value(spec, f"{_INSTRUMENT}.geometry") or "bragg_brentano"
    if isinstance(asked, str) and asked.lower().replace("-", "_") in _GEOMETRIES - {there}:
        return hit(f"question.conditions.geometry is {asked}, {_INSTRUMENT}.geometry is {there}")
    return clear(f"wavelength {wave:g} angstrom and geometry {there} contradict nothing in question.conditions")


_GEOMETRIES = {"bragg_brentano", "debye_scherrer", "transmission"}


def width(spec: Spec, parameters: Parameters) -> Finding:
    """Check that the Gaussian width U tan^2 + V tan + W gives peaks of parameters.narrowest to .widest degrees (FWHM).

    Files of other programs give it in hundredths of a degree squared, or give V with another sign.
    """
    caglioti = [number(spec, f"{_INSTRUMENT}.profile_{name}") for name in "uvw"]
    ends = [number(spec, f"stages.data.definition.limits_deg.{place}") for place in (0, 1)]
    if all(part is None for part in caglioti) or None in ends:
        return clear("the instrument states no Gaussian width")
    u, v, w = (part or 0.0 for part in caglioti)
    for step in range(21):
        angle = (ends[0] or 0) + ((ends[1] or 0) - (ends[0] or 0)) * step / 20
        slope = math.tan(math.radians(angle / 2))
        squared = u * slope**2 + v * slope + w
        fwhm = math.copysign(math.sqrt(abs(squared)), squared)
        if not wanted(parameters, "narrowest") <= fwhm <= wanted(parameters, "widest"):
            return hit(f"U, V and W give a squared width of {squared:.3g} degrees^2 at {angle:.4g} degrees")
    return clear("peaks have a width that a diffractometer has, over the whole range")


def angles(spec: Spec, parameters: Parameters) -> Finding:
    """Check that a cell is refined over parameters.span degrees 2 theta, excluded ranges taken off.

    Over less, cell and displacement shift the lines alike.
    """
    where = "stages.data.definition"
    try:
        low, high = (needed(spec, f"{where}.limits_deg.{end}") for end in (0, 1))
    except MissingValueError as missing:
        return missing.finding
    ranges = value(spec, f"{where}.excluded_deg") or ()
    span = high - low - sum(max(min(high, end) - max(low, start), 0) for start, end in ranges)
    text = f"{where} keeps {span:g} degrees"
    if span < wanted(parameters, "span") and str(value(spec, _PARAMETER)).startswith("cell/"):
        return hit(f"{text}: the cell and the height of the specimen shift these lines alike")
    return clear(text)
