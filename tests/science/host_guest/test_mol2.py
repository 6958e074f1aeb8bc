"""Molecules in mol2 files."""

import pytest

from sophron.records.errors import UserError
from sophron.science.host_guest.preparation import mol2
from sophron.science.host_guest.preparation.mol2 import Atom, Molecule

AMMONIUM = Molecule(
    "AMM",
    (
        Atom("N1", (0.0, 0.0, 0.0), "N.4", -0.8399),
        *(Atom(f"H{at}", (1.0, float(at), 0.0), "H", 0.46) for at in range(1, 5)),
    ),
    tuple((0, at, "1") for at in range(1, 5)),
)


def test_what_is_written_is_read(tmp_path):
    AMMONIUM.write(tmp_path / "a.mol2")
    assert mol2.read(tmp_path / "a.mol2") == AMMONIUM


def test_charges_are_renormalised_to_the_last_unit(tmp_path):
    made = AMMONIUM.renormalised(1)
    assert AMMONIUM.charge == pytest.approx(1.0001)
    made.write(tmp_path / "a.mol2")
    again = mol2.read(tmp_path / "a.mol2")
    assert round(again.charge / mol2.CHARGE_QUANTUM) == 1_000_000
    assert max(abs(a.charge - b.charge) for a, b in zip(again.atoms, AMMONIUM.atoms, strict=True)) < 3e-5


def test_charges_that_mean_no_integer_are_refused():
    bad = Molecule("AMM", AMMONIUM.atoms[:4], ())
    with pytest.raises(UserError, match=r"guest\.mol2: the partial charges sum to 0\.5401 e, which is no integer"):
        bad.integer_charge("guest.mol2")


@pytest.mark.parametrize(("name", "element"), [("C12", "C"), ("CL1", "Cl"), ("Cl2", "Cl"), ("BR", "Br"), ("HN1", "H")])
def test_elements_come_from_names(name, element):
    assert Atom(name, (0.0, 0.0, 0.0), "?", 0.0).element == element


@pytest.mark.parametrize("text", ["", "@<TRIPOS>MOLECULE\nX\n", "@<TRIPOS>ATOM\n1 C1 0 0 x C 1 A 0\n@<TRIPOS>BOND\n"])
def test_what_is_no_mol2_is_refused(tmp_path, text):
    (tmp_path / "a.mol2").write_text(text)
    with pytest.raises(UserError, match=r"a\.mol2 is no mol2 file"):
        mol2.read(tmp_path / "a.mol2")
    with pytest.raises(UserError, match=r"b\.mol2 is not there"):
        mol2.read(tmp_path / "b.mol2")
