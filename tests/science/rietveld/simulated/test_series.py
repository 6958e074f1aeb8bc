"""The simulated series: what they are made of, and structures that are chemistry."""

import itertools

import numpy as np
import pytest

from sophron.records.errors import UserError
from sophron.science.rietveld.simulated import series

gemmi = pytest.importorskip("gemmi")

STRUCTURES = ("llzo", "llzo_as_labelled", "llzo_more_tantalum", "llzo_tetragonal", "la2zr2o7")
BONDS = {"Zr": (6, 2.0, 2.2), "Ta": (6, 2.0, 2.2), "La": (8, 2.3, 2.75)}
"""Oxygen neighbours of each cation, and between which distances in angstrom they are."""


def small(name):
    return gemmi.make_small_structure_from_block(gemmi.cif.read_string(series.cif(name)).sole_block())


def oxygens(structure, site, most):
    here = structure.cell.orthogonalize(site.fract)
    found = []
    for other in structure.get_all_unit_cell_sites():
        for shift in itertools.product((-1, 0, 1), repeat=3):
            there = gemmi.Fractional(*(a + b for a, b in zip(other.fract.tolist(), shift, strict=True)))
            distance = structure.cell.orthogonalize(there).dist(here)
            if other.element.name == "O" and 0.1 < distance < most:
                found.append(distance)
    return found


@pytest.mark.parametrize("name", STRUCTURES)
def test_cations_have_the_oxygens_that_they_have_in_oxides(name):
    structure = small(name)
    for site in structure.sites:
        if site.element.name in BONDS:
            count, least, most = BONDS[site.element.name]
            found = oxygens(structure, site, most)
            assert len(found) == count, (site.label, found)
            assert min(found) > least


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("llzo", {"Li": 6.4, "La": 3, "Zr": 1.4, "Ta": 0.6, "O": 12}),
        ("llzo_more_tantalum", {"Li": 6.4, "La": 3, "Zr": 1.2, "Ta": 0.8, "O": 12}),
        ("llzo_tetragonal", {"Li": 7, "La": 3, "Zr": 2, "O": 12}),
        ("la2zr2o7", {"La": 2, "Zr": 2, "O": 7}),
    ],
)
def test_a_cell_holds_eight_formulas(name, formula):
    held = dict.fromkeys(formula, 0.0)
    for site in small(name).get_all_unit_cell_sites():
        held[site.element.name] += site.occ / 8
    assert held == pytest.approx(formula, abs=0.01)


def test_every_series_says_that_it_is_simulated():
    for name in series.names():
        one = series.series(name)
        assert one.title.startswith("Simulated ")
        assert sum(one.truth.values()) == pytest.approx(1.0)
        assert series.phase(one.main).name == "LLZO"
        assert series.phase(one.candidate).name == "La2Zr2O7"
    assert len({series.series(name).stream for name in series.names()}) == len(series.names())
    assert series.series("ladder").times_s == (87, 218, 600, 1800, 3600, 14400)


def test_the_ladder_differs_from_its_model_in_tantalum_and_cell_alone():
    model, truth = small("llzo"), small("llzo_more_tantalum")
    assert truth.cell.a / model.cell.a == pytest.approx(1.0003, abs=1e-5)
    changed = [a.label for a, b in zip(model.sites, truth.sites, strict=True) if (a.fract, a.occ) != (b.fract, b.occ)]
    assert [a.fract.tolist() for a in model.sites] == [b.fract.tolist() for b in truth.sites]
    assert {a.label for a, b in zip(model.sites, truth.sites, strict=True) if a.occ != b.occ} == {"Zr1", "Ta1"}
    assert set(changed) >= {"Zr1", "Ta1"}


def test_angles_are_those_of_the_paper():
    x = series.angles_deg()
    assert (x[0], x[1]) == (10.0, 10.013)
    assert 119.98 < x[-1] <= 120.0
    shape = series.background_shape(x)
    assert shape.mean() == pytest.approx(0.5)
    assert np.all(np.diff(shape) < 0)


def test_a_series_that_there_is_not():
    with pytest.raises(UserError, match='no simulated series "ladders"; known are ladder, control, mixture'):
        series.series("ladders")
