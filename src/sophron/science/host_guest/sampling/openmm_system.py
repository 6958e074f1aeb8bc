"""An Amber system in OpenMM: solvent, rigid bonds, heavy hydrogens, and factors between the two programs' units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sophron.science.host_guest.sampling.platform import openmm
from sophron.science.host_guest.task_metadata import Solvent

KJ_PER_KCAL = 4.184
NM_PER_A = 0.1
HYDROGEN_MASS_AMU = 3.024
CUTOFF_NM = 0.9


def solvated(prmtop: Path, solvent: Solvent) -> tuple[Any, Any]:
    """System and topology of Amber files, hydrogens at 3.024 amu and their bonds rigid, so that 4 fs steps hold.

    Implicit solvent is OBC2 without a surface term: such a term would let the dummies exert forces.
    """
    module = openmm()
    from openmm import app

    files = app.AmberPrmtopFile(str(prmtop))
    common = {"constraints": app.HBonds, "hydrogenMass": HYDROGEN_MASS_AMU * module.unit.amu, "removeCMMotion": False}
    if solvent == "obc2":
        system = files.createSystem(nonbondedMethod=app.NoCutoff, implicitSolvent=app.OBC2, gbsaModel=None, **common)
    else:
        system = files.createSystem(nonbondedMethod=app.PME, nonbondedCutoff=CUTOFF_NM, **common)
    return system, files.topology
