"""A refined structure as CIF: the CIF that it began as, with its cell, coordinates and displacements replaced."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from sophron.interfaces.rietveld import Fit, Parameter
from sophron.records.errors import UserError

LENGTHS = ("a", "b", "c")
ANGLES = ("alpha", "beta", "gamma")
SITES = {
    "x": "_atom_site_fract_x",
    "y": "_atom_site_fract_y",
    "z": "_atom_site_fract_z",
    "u_iso": "_atom_site_U_iso_or_equiv",
    "occupancy": "_atom_site_occupancy",
}


def structures(names: Iterable[str], cifs: Mapping[str, str], values: Mapping[str, float], fit: Fit) -> str:
    """Return the CIF text of all phases `names` of a fit, one block each. cifs: what they began as, by name."""
    parameters = {one.name: one for one in fit.parameters}
    return "\n".join(refined(name, cifs[name], values, parameters) for name in names)


def refined(name: str, cif: str, values: Mapping[str, float], parameters: Mapping[str, Parameter]) -> str:
    """Return the CIF text of phase `name`.

    values: all parameters of the model; parameters: the refined ones, for their esd.
    """
    from gemmi import cif as format_

    block = format_.read_string(cif).sole_block()
    block.name = "".join(one if one.isalnum() else "_" for one in name)

    def written(parameter: str) -> str:
        one = parameters.get(parameter)
        return with_esd(values[parameter], None if one is None else one.esd)

    for letters, kind in ((LENGTHS, "length"), (ANGLES, "angle")):
        for letter in letters:
            if f"cell/{name}/{letter}" in values:
                block.set_pair(f"_cell_{kind}_{letter}", written(f"cell/{name}/{letter}"))
    labels = [format_.as_string(one) for one in block.find_values("_atom_site_label")]
    if not labels:
        raise UserError(f"phase {name}: its CIF has no labelled atoms; give one that has")
    loop = block.find_loop("_atom_site_label").get_loop()
    for key, tag in SITES.items():
        if not all(f"{key}/{name}/{label}" in values for label in labels):
            continue
        if tag not in loop.tags:
            loop.add_columns([tag], "?")
        column = block.find_loop(tag)
        for row, label in enumerate(labels):
            column[row] = written(f"{key}/{name}/{label}")
    return str(block.as_string())


def with_esd(value: float, esd: float | None) -> str:
    """Return a number as CIF writes it: `9.3719(14)`, the esd in units of the last digits (2 to 19)."""
    if esd is None or not math.isfinite(esd) or esd <= 0:
        return f"{value:.6f}"
    digits = -math.floor(math.log10(esd))
    if round(esd * 10**digits) < 2:
        digits += 1
    digits = max(digits, 0)
    return f"{value:.{digits}f}({round(esd * 10**digits)})"
