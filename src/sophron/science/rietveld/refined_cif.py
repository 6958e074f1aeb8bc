"""A refined structure as CIF, written anew: from the CIF that it began as come the symmetry and the kinds of atoms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from sophron.interfaces.rietveld import Fit, Parameter, State
from sophron.records.errors import UserError

EDGES = ("a", "b", "c")
ANGLES = ("alpha", "beta", "gamma")
SITES = {
    "x": "fract_x",
    "y": "fract_y",
    "z": "fract_z",
    "occupancy": "occupancy",
    "u_iso": "U_iso_or_equiv",
}


def structures(names: Iterable[str], cifs: Mapping[str, str], state: State, fit: Fit) -> str:
    """Return the CIF text of all phases `names` of a fit, one block each. cifs: what they began as, by name."""
    from gemmi import cif as format_

    document = format_.Document()
    for name in names:
        _block(document, name, cifs[name], state, fit)
    return str(document.as_string())


def _block(document: Any, name: str, cif: str, state: State, fit: Fit) -> None:
    """Add the block of phase `name`. UserError if the CIF that it began as has no labelled atoms."""
    import gemmi

    given = gemmi.cif.read_string(cif).sole_block()
    small = gemmi.make_small_structure_from_block(given)
    if not small.sites or not all(site.label for site in small.sites):
        raise UserError(f"phase {name}: its CIF has no labelled atoms; give one that has")
    block = document.add_new_block("".join(one if one.isalnum() else "_" for one in name))
    quote = gemmi.cif.quote
    block.set_pair("_audit_creation_method", quote(f"Sophron, of a refinement with {fit.rwp.engine}"))
    block.set_pair("_computing_structure_refinement", quote(f"{fit.rwp.engine} {state.version}"))
    parameters = {one.name: one for one in fit.parameters}
    _cell(block, name, state.values, parameters)
    _symmetry(block, given, small)
    _atoms(block, small, name, state.values, parameters)
    _agreement(block, name, fit)


def _cell(block: Any, name: str, values: Mapping[str, float], parameters: Mapping[str, Parameter]) -> None:
    """Six cell parameters and the volume; an edge that follows another by symmetry has its standard deviation."""
    import gemmi

    cell = {letter: values[f"cell/{name}/{letter}"] for letter in (*EDGES, *ANGLES)}
    esds = {letter: _esd(parameters.get(f"cell/{name}/{letter}")) for letter in cell}
    for letter in EDGES:
        same = [other for other in EDGES if esds[other] and math.isclose(cell[other], cell[letter], rel_tol=1e-9)]
        esds[letter] = esds[letter] or (esds[same[0]] if same else None)
    for letter, value in cell.items():
        kind = "length" if letter in EDGES else "angle"
        fixed = letter in ANGLES and not esds[letter]
        block.set_pair(f"_cell_{kind}_{letter}", f"{value:g}" if fixed else with_esd(value, esds[letter]))
    volume = gemmi.UnitCell(*cell.values()).volume
    block.set_pair("_cell_volume", with_esd(volume, _volume_esd(volume, cell, esds)))


def _volume_esd(volume: float, cell: Mapping[str, float], esds: Mapping[str, float | None]) -> float | None:
    """Of edges that were refined; those that are equal by symmetry move together. Angles are left out."""
    groups: dict[float, list[float]] = {}
    for letter in EDGES:
        esd = esds[letter]
        if esd:
            groups.setdefault(round(cell[letter], 9), []).append(esd / cell[letter])
    relative = math.sqrt(sum(sum(parts) ** 2 for parts in groups.values()))
    return volume * relative or None


def _symmetry(block: Any, given: Any, small: Any) -> None:
    """The CIF's own operations if it lists them, else those of its space group."""
    import gemmi

    group = small.spacegroup
    if group is not None:
        block.set_pair("_space_group_name_H-M_alt", gemmi.cif.quote(group.xhm()))
        block.set_pair("_space_group_IT_number", str(group.number))
    tags = ("_space_group_symop_operation_xyz", "_symmetry_equiv_pos_as_xyz")
    listed = [gemmi.cif.as_string(one) for tag in tags for one in given.find_values(tag)]
    operations = listed or ([one.triplet() for one in group.operations()] if group is not None else [])
    if operations:
        loop = block.init_loop("_space_group_symop_", ["id", "operation_xyz"])
        for number, one in enumerate(operations, 1):
            loop.add_row([str(number), gemmi.cif.quote(one)])


def _atoms(block: Any, small: Any, name: str, values: Mapping[str, float], parameters: Mapping[str, Parameter]) -> None:
    """Each site of the model with isotropic displacement U: no B beside it, and no tensor that was not refined."""
    import gemmi

    kinds = dict.fromkeys(site.type_symbol or site.element.name for site in small.sites)
    types = block.init_loop("_atom_type_", ["symbol"])
    for kind in kinds:
        types.add_row([gemmi.cif.quote(kind)])
    loop = block.init_loop("_atom_site_", ["label", "type_symbol", *SITES.values(), "adp_type"])
    for site in small.sites:
        numbers = []
        for key in SITES:
            parameter = f"{key}/{name}/{site.label}"
            numbers.append(with_esd(values[parameter], _esd(parameters.get(parameter))) if parameter in values else "?")
        kind = site.type_symbol or site.element.name
        loop.add_row([gemmi.cif.quote(site.label), gemmi.cif.quote(kind), *numbers, "Uiso"])


def _agreement(block: Any, name: str, fit: Fit) -> None:
    """R factors as fractions, of this fit alone; of the profile, and of the phase."""
    phase = next(one for one in fit.phases if one.name == name)
    x = fit.curves.two_theta_deg
    numbers = {
        "_pd_proc_ls_prof_R_factor": fit.rp_percent / 100,
        "_pd_proc_ls_prof_wR_factor": fit.rwp.percent / 100,
        "_pd_proc_ls_prof_wR_expected": fit.r_expected_percent / 100,
        "_refine_ls_goodness_of_fit_all": fit.gof,
        "_refine_ls_R_factor_all": None if phase.r_f_percent is None else phase.r_f_percent / 100,
        "_refine_ls_R_I_factor": None if phase.r_bragg_percent is None else phase.r_bragg_percent / 100,
    }
    for tag, value in numbers.items():
        if value is not None:
            block.set_pair(tag, f"{value:.4f}")
    block.set_pair("_refine_ls_number_parameters", str(fit.variables))
    block.set_pair("_pd_proc_number_of_points", str(fit.observations))
    if x.size:
        block.set_pair("_pd_proc_2theta_range_min", f"{x[0]:.4f}")
        block.set_pair("_pd_proc_2theta_range_max", f"{x[-1]:.4f}")


def _esd(one: Parameter | None) -> float | None:
    return None if one is None else one.esd


def with_esd(value: float, esd: float | None) -> str:
    """Return a number as CIF writes it: `9.3719(14)`, the esd in units of the last digits (2 to 19)."""
    if esd is None or not math.isfinite(esd) or esd <= 0:
        return f"{value:.6f}"
    digits = -math.floor(math.log10(esd))
    if round(esd * 10**digits) < 2:
        digits += 1
    digits = max(digits, 0)
    return f"{value:.{digits}f}({round(esd * 10**digits)})"
