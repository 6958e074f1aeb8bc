"""Boxes of water: which water, which ions and how many; and charges made again with AM1-BCC."""

import json
from collections import Counter

import pytest

from sophron.records.errors import UserError
from sophron.science.host_guest.preparation import ambertools, mol2
from sophron.science.host_guest.preparation.complex_builder import build, read_task
from sophron.science.host_guest.systems import data, tasks

from .conftest import CHEM, from_smiles

parmed = pytest.importorskip("parmed", reason=f"ParmEd {CHEM}")
WATER_SITES = {"tip3p": 3, "opc": 4}


@pytest.fixture(autouse=True)
def _installed():
    try:
        ambertools.find("tleap")
    except UserError:
        pytest.skip(f"AmberTools {CHEM}")


@pytest.fixture
def anionic_task(small_task):
    """The small task with malonate, -2 e, as its guest, and 50 mmol/l of salt."""
    guest = from_smiles("[O-]C(=O)CC(=O)[O-]", "GST", offset=(0.0, 0.0, 7.0))
    tasks.write_molecules(mol2.read(small_task / "host.mol2"), guest, small_task)
    task = read_task(small_task) | {"guest_charge_e": -2, "ionic_strength_molar": 0.05}
    (small_task / "task_metadata.json").write_text(json.dumps(task))
    return small_task


def box(built):
    """Sodium, chloride, atoms of a water, and the charge of solute and ions, which waters do not change."""
    whole = parmed.load_file(str(built.prmtop))
    residues = Counter(residue.name for residue in whole.residues)
    sites = {len(residue.atoms) for residue in whole.residues if residue.name == "WAT"}
    return (
        residues["Na+"],
        residues["Cl-"],
        sites,
        sum(atom.charge for atom in whole.atoms if atom.residue.name != "WAT"),
    )


@pytest.mark.parametrize("solvent", ["tip3p", "opc"])
def test_anions_get_sodium_and_salt_comes_in_pairs(anionic_task, tmp_path, solvent):
    built = build(anionic_task, tmp_path / "built", solvent=solvent, pull_a=2.0)
    sodium, chloride, sites, charge = box(built)
    assert sodium - chloride == 2
    assert chloride >= 1
    assert sites == {WATER_SITES[solvent]}
    assert charge == pytest.approx(0.0, abs=1e-6)


def test_each_water_has_the_ions_that_were_fitted_to_it(small_task, tmp_path):
    radii = {}
    for solvent in WATER_SITES:
        built = build(small_task, tmp_path / solvent, solvent=solvent, pull_a=2.0)
        sodium, chloride, _, _ = box(built)
        assert (sodium, chloride) == (0, 1)
        whole = parmed.load_file(str(built.prmtop))
        radii[solvent] = next(atom.rmin for atom in whole.atoms if atom.residue.name == "Cl-")
    assert abs(radii["tip3p"] - radii["opc"]) > 0.01


def test_charges_can_be_made_again(small_task, tmp_path):
    """By AM1-BCC, which gives equal charges to equal hydrogens, whatever the files said."""
    built = build(small_task, tmp_path / "built", charges="am1bcc")
    assert abs(built.charge_sum_e - 1) < 1e-6
    shipped, made = (mol2.read(path) for path in (small_task / "guest.mol2", tmp_path / "built" / "guest_gaff2.mol2"))
    assert made.names == shipped.names
    charge = {name: atom.charge for name, atom in zip(made.names, made.atoms, strict=True)}
    (nitrogen,) = (place for place, atom in enumerate(made.atoms) if atom.element == "N")
    beside = [made.names[place] for place in made.neighbours(nitrogen) if made.atoms[place].element == "H"]
    assert len(beside) == 3
    assert max(charge[name] for name in beside) - min(charge[name] for name in beside) < 2e-6
    assert all(0.3 < charge[name] < 0.6 for name in beside)
    assert charge[made.names[nitrogen]] < -0.5
    assert max(abs(a.charge - b.charge) for a, b in zip(made.atoms, shipped.atoms, strict=True)) > 0.05


@pytest.mark.parametrize(
    ("name", "index", "solvent"), [("sampl4-oah", 3, "tip3p"), ("sampl4-oah", 3, "opc"), ("sampl5-cbclip", 0, "opc")]
)
def test_charged_hosts_are_neutralised(sampl, tmp_path, name, index, solvent):
    """OAH has -8 e and CBClip -4 e: a box of either without counter-ions would have a charged background."""
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    tasks.write(data.benchmark(name), index, sampl, inputs, solvent)
    task = read_task(inputs)
    total = task["host_charge_e"] + task["guest_charge_e"]
    assert task["host_charge_e"] == {"sampl4-oah": -8, "sampl5-cbclip": -4}[name]
    sodium, chloride, sites, charge = box(build(inputs, tmp_path / "built", pull_a=2.0))
    assert sodium - chloride == -total
    assert sites == {WATER_SITES[solvent]}
    assert charge == pytest.approx(0.0, abs=1e-6)
