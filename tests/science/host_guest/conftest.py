"""Small molecules and complexes, and a guest without interactions: all that these tests run."""

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sophron.science.estimators.restraints import Frame, Harmonic
from sophron.science.host_guest.preparation.geometry import Anchors
from sophron.science.host_guest.preparation.mol2 import Atom, Molecule
from sophron.science.host_guest.protocols import restrained_system
from sophron.science.host_guest.protocols.apr import Wall, Window
from sophron.science.host_guest.protocols.apr_setup import Experiment
from sophron.science.host_guest.protocols.restrained_system import DirectionRestraint, RestrainedParticles, Site

CHEM = "is not installed: pip install 'sophron[chem]'"
T = 298.15


@pytest.fixture
def sampl():
    """The folder of the published files, which this project does not ship."""
    folder = os.environ.get("SOPHRON_SAMPL_DATA")
    if not folder:
        pytest.skip("SOPHRON_SAMPL_DATA names no folder with the files of SAMPL4 and SAMPL5")
    return Path(folder)


def from_smiles(smiles, residue, offset=(0.0, 0.0, 0.0), charge=None):
    """A molecule with a shape by RDKit, and Gasteiger's charges, off by a rounding as published ones are."""
    chem = pytest.importorskip("rdkit.Chem", reason=f"RDKit {CHEM}")
    from rdkit.Chem import AllChem

    found = chem.AddHs(chem.MolFromSmiles(smiles))
    assert AllChem.EmbedMolecule(found, randomSeed=7) == 0
    AllChem.UFFOptimizeMolecule(found)
    AllChem.ComputeGasteigerCharges(found)
    positions = found.GetConformer().GetPositions() + np.array(offset)
    total = chem.GetFormalCharge(found) if charge is None else charge
    raw = np.array([atom.GetDoubleProp("_GasteigerCharge") for atom in found.GetAtoms()])
    charges = np.round(raw + (total - raw.sum()) / raw.size, 4)
    counts, atoms = {}, []
    sybyl = {"C": "C.3", "N": "N.4", "O": "O.3", "H": "H"}
    for atom, place, each in zip(found.GetAtoms(), positions, charges, strict=True):
        symbol = atom.GetSymbol()
        counts[symbol] = counts.get(symbol, 0) + 1
        atoms.append(Atom(f"{symbol}{counts[symbol]}", tuple(map(float, place)), sybyl[symbol], float(each)))
    bonds = tuple((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), "1") for bond in found.GetBonds())
    return Molecule(residue, tuple(atoms), bonds)


@pytest.fixture
def small_task(tmp_path):
    """A task whose host is adamantane and whose guest is ethylammonium beside it."""
    folder = tmp_path / "inputs"
    folder.mkdir()
    return small(folder)


def small(folder, solvent="obc2"):
    """Write this task."""
    from sophron.science.host_guest.systems.tasks import _pdb

    host, guest = from_smiles("C1C2CC3CC1CC(C2)C3", "HST"), from_smiles("CC[NH3+]", "GST", offset=(0.0, 0.0, 6.5))
    host.write(folder / "host.mol2")
    guest.write(folder / "guest.mol2")
    (folder / "complex.pdb").write_text(_pdb(host, guest))
    task = {
        "task": "small",
        "temperature_k": T,
        "host_charge_e": 0,
        "guest_charge_e": 1,
        "symmetry": {"equivalent_sites": 1, "locked_by_restraint": False},
        "ph": 7.0,
        "solvent": solvent,
    }
    (folder / "task_metadata.json").write_text(json.dumps(task))
    return folder


def ghost(windows, lock=True, k_angle=20.0):
    """A bent guest of three atoms that feels restraints and its own bonds alone; its host is three points in space."""
    openmm = pytest.importorskip("openmm", reason=f"OpenMM {CHEM}")
    system = openmm.System()
    for mass in (0.0, 0.0, 0.0, 12.0, 12.0, 12.0):
        system.addParticle(mass)
    bonds, angles = openmm.HarmonicBondForce(), openmm.HarmonicAngleForce()
    bonds.addBond(3, 4, 0.25, 2e4)
    bonds.addBond(4, 5, 0.15, 2e4)
    angles.addAngle(3, 4, 5, math.radians(110.0), 100.0)
    system.addForce(bonds)
    system.addForce(angles)
    host = np.array([[1.0, 0.0, 0.0], [-0.5, 0.8660254, 0.0], [-0.5, -0.8660254, 0.0]])
    guest = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 2.5], [1.4, 0.0, 3.0]])
    points = np.array([[0.0, 0.0, -4.0], [0.0, 0.0, -7.0], [0.0, 2.2, -9.2]])
    held = RestrainedParticles(restrained_system.add_dummies(system), Anchors((0, 1, 2), (3, 4)), (0, 1, 2))
    site = Site(Wall(3.0, 5.0), DirectionRestraint() if lock else None)
    straight = Harmonic(180.0, k_angle)
    frame = Frame(Harmonic(4.0, 2.0), theta=straight, beta=straight)
    restrained_system.hold_guest(system, held, frame, site)
    chain = [Window(frame, each, Wall(0.0, 1.0)) for each in windows[0]]
    chain += [Window(Frame(Harmonic(each, 2.0), straight, None, None, straight)) for each in windows[1]]
    return Experiment(system, held, site, tuple(chain), T, np.concatenate([host, guest, points]), None, implicit=True)


def charged(host=0.0, guest=0.0, *, far=18.0, ions=(), box_a=None, locked=True):
    """A ghost pulled to `far`, with charges on its host and its guest, and ions in a box."""
    openmm = pytest.importorskip("openmm", reason=f"OpenMM {CHEM}")
    made = ghost(((0.5,), (4.0, far)), lock=locked)
    system, force = made.system, openmm.NonbondedForce()
    for _ in ions:
        system.addParticle(23.0)
    count = system.getNumParticles()
    charges = np.zeros(count)
    charges[:3] = host / 3
    charges[3] = guest
    charges[count - len(ions) :] = ions
    for charge in charges:
        force.addParticle(float(charge), 0.3, 0.0)
    system.addForce(force)
    places = np.concatenate([made.positions_a, np.full((len(ions), 3), 30.0)])
    system.addConstraint(0, 1, 0.17)
    system.addConstraint(1, 2, 0.17)
    return replace(made, positions_a=places, box_a=box_a, implicit=box_a is None)
