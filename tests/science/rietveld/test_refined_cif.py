"""The CIF of a refined structure says what the model says: nothing of the CIF that it began as but symmetry and kinds."""

import gemmi
import numpy as np
import pytest

from sophron.interfaces.rietveld import Background, Curves, Fit, Parameter, PhaseFit, Rwp, State
from sophron.records.errors import UserError
from sophron.science.rietveld import refined_cif

GIVEN = """data_from_a_database
_database_code_ICSD 4711
_cell_length_a 9.4
_cell_length_b 9.4
_cell_length_c 6.9
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 120
_cell_volume 528.0
_refine_ls_R_factor_all 0.0923
_space_group_name_H-M_alt 'P 63/m'
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_B_iso_or_equiv
"O1'" O 0.3 0.4 0.25 0.0
Ca2 Ca 0.24 0.99 0.25 0.0
loop_
_atom_site_aniso_label
_atom_site_aniso_U_11
Ca2 0.0
"""
CELL = {"a": 9.3719, "b": 9.3719, "c": 6.8859, "alpha": 90.0, "beta": 90.0, "gamma": 120.0}
VALUES = {f"cell/P/{letter}": value for letter, value in CELL.items()}
VALUES |= {f"{key}/P/{atom}": 0.1 for key in ("x", "y", "z", "u_iso", "occupancy") for atom in ("O1'", "Ca2")}
ESDS = {"cell/P/a": 0.0014, "cell/P/c": 0.0002, "x/P/Ca2": 0.003}


def made(cif=GIVEN):
    parameters = tuple(Parameter(name, VALUES[name], esd, esd) for name, esd in ESDS.items())
    phase = PhaseFit("P", 3.2, 4.1, 99, 1.0, None)
    curves = Curves(np.array([10.0, 90.0]), *(np.zeros(2) for _ in range(4)), {})
    fit = Fit(Rwp(9.06, "toy"), 7.0, 5.6, 1.0, 1.62, 2, 3, None, parameters, (), (phase,), (), curves)
    state = State("toy", "1.2", {}, VALUES, Background(), (10.0, 90.0))
    return refined_cif.structures(["P"], {"P": cif}, state, fit)


def test_it_says_what_the_model_says():
    block = gemmi.cif.read_string(made()).sole_block()
    value = {item.pair[0]: gemmi.cif.as_string(item.pair[1]) for item in block if item.pair}
    assert value["_cell_length_a"] == value["_cell_length_b"] == "9.3719(14)"
    assert value["_cell_angle_gamma"] == "120"
    volume = gemmi.UnitCell(*CELL.values()).volume
    assert gemmi.cif.as_number(value["_cell_volume"]) == pytest.approx(volume, abs=0.1)
    assert "(" in value["_cell_volume"]
    assert value["_computing_structure_refinement"] == "toy 1.2"
    assert value["_pd_proc_ls_prof_wR_factor"] == "0.0906"
    assert value["_refine_ls_R_factor_all"] == "0.0320"  # ours, not the 0.0923 of the database
    assert "ICSD" not in made()
    assert "B_iso" not in made()
    assert "aniso" not in made()
    table = block.find("_atom_site_", ["label", "fract_x", "U_iso_or_equiv", "adp_type"])
    assert [[gemmi.cif.as_string(one) for one in row] for row in table] == [
        ["O1'", "0.100000", "0.100000", "Uiso"],
        ["Ca2", "0.100(3)", "0.100000", "Uiso"],
    ]
    assert len(block.find_values("_space_group_symop_operation_xyz")) == 12


def test_it_is_a_structure_again():
    small = gemmi.make_small_structure_from_block(gemmi.cif.read_string(made()).sole_block())
    assert small.spacegroup.number == 176
    assert [site.label for site in small.sites] == ["O1'", "Ca2"]


def test_a_cif_without_labels_is_refused():
    with pytest.raises(UserError, match="phase P: its CIF has no labelled atoms"):
        made(GIVEN.partition("loop_")[0])
