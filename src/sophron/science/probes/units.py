"""Probes of units: numbers are of the order that their unit gives them, and atoms weigh what their element does."""

from sophron.interfaces.probe import Finding
from sophron.science.probes.estimates import BUILD
from sophron.science.probes.spec_access import Parameters, Spec, clear, hit, number, value, wanted


def ranges(spec: Spec, parameters: Parameters) -> Finding:
    """Check each number that parameters.ranges names: list of keys, low, high, unit, and units, those of the build."""
    looked = 0
    for about in wanted(parameters, "ranges"):
        if about.get("units") not in (None, value(spec, f"{BUILD}.units")):
            continue
        for key in about["keys"]:
            found = number(spec, key)
            looked += found is not None
            if found is not None and not about["low"] <= found <= about["high"]:
                between = f"not between {about['low']:g} and {about['high']:g} {about['unit']}"
                return hit(f"{key} is {found:g}, {between}; it looks like a number in another unit")
    return clear(f"{looked} numbers have the order of their unit")


def masses(spec: Spec, parameters: Parameters) -> Finding:
    """Check that species weigh what parameters.masses (g/mol) says of their elements, within .tolerance (relative)."""
    species, known = value(spec, f"{BUILD}.species"), wanted(parameters, "masses")
    if value(spec, f"{BUILD}.units") != "metal" or not isinstance(species, list):
        return clear("no elements are named")
    for place, one in enumerate(species):
        element, mass = one.get("element"), number(spec, f"{BUILD}.species.{place}.mass")
        if element in known and mass and abs(mass - known[element]) > wanted(parameters, "tolerance") * known[element]:
            return hit(f"{BUILD}.species: {element} weighs {mass:g} g/mol, its element {known[element]:g}")
    return clear("species weigh what their elements do")
