"""Preparation with AmberTools: types, charges, warnings; and the published complexes where they are there."""

import json
from dataclasses import replace

import numpy as np
import pytest

from sophron.interfaces.kind import EngineFailure
from sophron.records.errors import UserError
from sophron.science.host_guest.preparation import ambertools, geometry, mol2
from sophron.science.host_guest.preparation.ambertools import ammonium_checked, gaff2_file, parametrise
from sophron.science.host_guest.preparation.complex_builder import build, diagnostics, read_task
from sophron.science.host_guest.sampling import equilibration
from sophron.science.host_guest.systems import data, tasks

from .conftest import CHEM, from_smiles


@pytest.fixture(autouse=True)
def _installed():
    for name in ("openmm", "parmed"):
        pytest.importorskip(name, reason=f"{name} {CHEM}")
    try:
        ambertools.find("tleap")
    except UserError:
        pytest.skip(f"AmberTools {CHEM}")


def test_a_complex_builds_and_minimises(small_task, tmp_path):
    built = build(small_task, tmp_path / "built")
    assert abs(built.charge_sum_e - 1) < 1e-6
    assert built.type_changes == ()
    found = diagnostics(built, read_task(small_task))
    assert found["charge_expected_e"] == 1
    assert found["atoms"] == built.atoms
    begun = equilibration.start(built)
    first, second = begun.positions_a[list(built.anchors.guest)]
    assert geometry.angle(np.array([0, 0, 5.0]), np.zeros(3), second - first) == pytest.approx(0.0, abs=0.1)
    relaxed, energy = equilibration.minimise(built, begun, "Reference")
    assert np.isfinite(energy)
    assert relaxed.positions_a.shape == (built.atoms, 3)


def test_metadata_that_contradict_the_charges_are_refused(small_task, tmp_path):
    task = read_task(small_task) | {"guest_charge_e": 2}
    (small_task / "task_metadata.json").write_text(json.dumps(task))
    with pytest.raises(UserError, match=r"says \+2 e for the guest.*sum to \+1 e; correct guest_charge_e"):
        build(small_task, tmp_path / "built")


def test_anchors_that_are_not_there_are_named(small_task, tmp_path):
    task = read_task(small_task) | {"anchors": {"host": [":1@C1", ":1@C2", ":1@C99"], "guest": [":2@C1", ":2@N1"]}}
    (small_task / "task_metadata.json").write_text(json.dumps(task))
    with pytest.raises(UserError, match=r"anchors\.host names :1@C99, and host\.mol2 has no such atom"):
        build(small_task, tmp_path / "built")


@pytest.mark.parametrize(("smiles", "meant"), [("CC[NH3+]", "nz"), ("C[NH2+]C", "ny"), ("C[NH+](C)C", "nx")])
def test_an_ammonium_has_the_type_of_its_hydrogens(smiles, meant):
    """The trap: a tertiary ammonium typed nz."""
    guest = from_smiles(smiles, "GST")
    for typed in {"n4", "nz", "nx"} - {meant}:
        wrong = replace(guest, atoms=tuple(replace(a, type=typed) if a.element == "N" else a for a in guest.atoms))
        fixed, changes = ammonium_checked(wrong, "guest")
        assert changes == [f"N1 {typed} to {meant}"]
        assert [atom.type for atom in fixed.atoms if atom.element == "N"] == [meant]
    assert ammonium_checked(fixed, "guest") == (fixed, [])


def test_an_ammonium_with_three_neighbours_is_refused():
    guest = from_smiles("CCN", "GST")
    typed = replace(guest, atoms=tuple(replace(a, type="nz") if a.element == "N" else a for a in guest.atoms))
    with pytest.raises(UserError, match="N1 has 3 neighbours and was typed nz, an ammonium"):
        ammonium_checked(typed, "guest")


def test_parameters_that_gaff2_has_are_not_made_up(tmp_path):
    """`parmchk2 -s gaff2` reads another force field in one call of four, at random."""
    ring = from_smiles("C1CCC2CCCC2C1", "RNG")
    found = set()
    for turn in range(8):
        folder = tmp_path / str(turn)
        folder.mkdir()
        made = parametrise(ring, "guest", 0, folder, "shipped")
        types = {atom.type for atom in made.molecule.atoms}
        assert "c5" in types
        text = made.frcmod.read_text()
        found.add(text)
        known = [line.split()[0] for line in gaff2_file().read_text().splitlines()[1:90] if line.split()]
        masses = text.partition("MASS")[2].partition("BOND")[0]
        assert not {line.split()[0] for line in masses.splitlines() if line.split()} & set(known)
    assert len(found) == 1


def test_a_program_that_fails_says_so(tmp_path):
    with pytest.raises(EngineFailure, match=r"antechamber ended with exit code|antechamber"):
        ambertools.call(tmp_path, "antechamber", "-i", "no.mol2", "-fi", "mol2", "-o", "x.mol2", "-fo", "mol2")


def test_warnings_are_quoted_with_what_they_warn_of():
    text = "/x/teLeap: Warning!\nCould not find angle parameter: a - b - c\nall is well\nThe unperturbed charge (1)\n"
    assert ambertools.warnings(text) == ["Warning: Could not find angle parameter: a - b - c"]


def test_a_topology_that_parmed_strips_can_be_read_again(small_task, tmp_path):
    """Slicing and saving writes one that cannot; this project saves none of ParmEd's at all."""
    import parmed
    from openmm import app

    built = build(small_task, tmp_path / "built")
    whole = parmed.load_file(str(built.prmtop), xyz=str(built.coordinates))
    whole.strip(":GST")
    whole.save(str(tmp_path / "host.prmtop"))
    assert app.AmberPrmtopFile(str(tmp_path / "host.prmtop")).topology.getNumAtoms() == built.host_atoms


@pytest.mark.parametrize(("name", "index"), [("sampl4-cb7", 9), ("sampl4-oah", 3), ("sampl5-cbclip", 9)])
def test_published_complexes_build_and_minimise(sampl, tmp_path, name, index):
    found = data.benchmark(name)
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    tasks.write(found, index, sampl, inputs, "obc2")
    built = build(inputs, tmp_path / "built")
    task = read_task(inputs)
    assert abs(built.charge_sum_e - task["host_charge_e"] - task["guest_charge_e"]) < 1e-6
    begun = equilibration.start(built)
    _, energy = equilibration.minimise(built, begun, "CPU")
    assert energy < 0


def test_boxes_hold_counter_ions(small_task, tmp_path):
    from openmm import app

    built = build(small_task, tmp_path / "built", solvent="tip3p", pull_a=2.0)
    names = [atom.element.symbol for atom in app.AmberPrmtopFile(str(built.prmtop)).topology.atoms() if atom.element]
    assert names.count("Cl") == 1
    assert mol2.read(tmp_path / "built" / "host_gaff2.mol2").charge == 0.0
