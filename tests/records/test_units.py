"""Units: read in the SI and in Lennard-Jones units, converted by pint, and never a traceback or a long computation."""

import contextlib
import subprocess
import sys
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sophron.records.units import UnitError, converted, factor

WORDS = [
    "W",
    "m",
    "K",
    "(",
    ")",
    "/",
    "*",
    "**",
    "^",
    "9",
    "-1",
    "1",
    " ",
    "sigma",
    "tau",
    "k_B",
    "LJ",
    "\u03c3",
    "²",
    "%",
]


@pytest.mark.parametrize(
    ("unit", "wanted", "reduced", "times"),
    [
        ("W/(m K)", "W/(m K)", False, 1),
        ("mW/m/K", "W/(m K)", False, 1e-3),
        ("kJ/mol", "kcal/mol (1 mol/l)", False, 1 / 4.184),
        ("pm", "angstrom", False, 0.01),
        ("W·m⁻¹·K⁻¹", "W/(m K)", False, 1),
        ("W m-1 K-1", "W/(m K)", False, 1),
        ("g/cm3", "kg m^-3", False, 1000),
        ("%", "none", False, 0.01),
        ("LJ (epsilon tau sigma^-3)", "epsilon tau sigma^-3 (LJ)", True, 1),
        ("ε τ/σ³", "epsilon tau sigma^-3 (LJ)", True, 1),
        ("m/(sigma tau)", "epsilon tau sigma^-3 (LJ)", True, 1),
        ("epsilon", "epsilon/k_B", True, 1),
    ],
)
def test_equal_dimensions_convert(unit, wanted, reduced, times):
    assert factor(unit, wanted, reduced=reduced) == pytest.approx(times, rel=1e-12)


@pytest.mark.parametrize(
    ("unit", "wanted", "reduced", "clause"),
    [
        ("mPa s", "W/(m K)", False, '"mPa s" does not have the dimension of W/(m K)'),
        ("mPa s", "epsilon tau sigma^-3 (LJ)", True, '"mPa s" has an unknown unit, mPa'),
        ("W/(m K) (LJ)", "W/(m K)", False, '"W/(m K) (LJ)" ends in "(LJ)", and W/(m K) does not'),
        ("kJ/mol (1 bar)", "kcal/mol (1 mol/l)", False, 'ends in "(1 bar)", and kcal/mol'),
        ("degC", "K", False, '"degC" counts from another zero than K'),
        ("m^9^9^9", "m", False, '"m^9^9^9" cannot be read as a unit'),
        ("m^(9**9**9)", "m", False, "cannot be read as a unit"),
        ("", "m", False, "cannot be read as a unit"),
        ("pm^99/m^98", "m", False, "is too far from m"),
        ("Gm^99/m^98", "m", False, "is too far from m"),
    ],
)
def test_other_units_are_refused_in_a_clause(unit, wanted, reduced, clause):
    with pytest.raises(UnitError) as told:
        factor(unit, wanted, reduced=reduced)
    assert clause in str(told.value)


def test_a_temperature_is_converted_with_its_zero():
    assert converted(27, "degC", "K", reduced=False) == pytest.approx(300.15)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=70), st.lists(st.sampled_from(WORDS), max_size=12).map("".join)), st.booleans())
@example("\x00", False)
@example("[K]", False)
@example("$K", False)
@example("K if K else m", True)
def test_no_text_ends_in_a_traceback(text, reduced):
    began = time.process_time()
    with contextlib.suppress(UnitError):
        assert isinstance(factor(text, "sigma" if reduced else "W/(m K)", reduced=reduced), float)
    assert time.process_time() - began < 5


def test_equal_spellings_do_not_import_pint():
    code = (
        "import sys; from sophron.records import units; units.factor('W/(m K)', 'W/(m K)', reduced=False);"
        "sys.exit('pint' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
