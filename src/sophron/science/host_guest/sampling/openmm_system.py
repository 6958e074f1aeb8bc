"""OpenMM: the platform it runs on, an Amber system in it, and factors between the two programs' units.

Nothing slower takes the place of a platform that was asked for. Systems have rigid bonds and heavy hydrogens.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sophron.records.errors import UserError
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


FASTEST_FIRST = ("CUDA", "OpenCL", "CPU", "Reference")
GRAPHICS = ("CUDA", "OpenCL")


def openmm() -> Any:
    """Return the module; UserError if it is not installed."""
    try:
        import openmm as module
    except ImportError:
        raise UserError("this system needs OpenMM, which is not installed; pip install 'sophron[chem]'") from None
    return module


def platform(asked: str | None = None, threads: int = 1) -> tuple[Any, dict[str, str]]:
    """Return a platform that works here, and its properties.

    asked: one of `FASTEST_FIRST`; `GPU`, the faster of the two for graphics processors; None, the fastest there is.
    UserError if the one that was asked for does not work here: a run of GPU length on a CPU would not end.
    threads: of the CPU platform; with more than one, sums depend on their order and runs do not repeat.
    """
    names = {None: FASTEST_FIRST, "GPU": GRAPHICS}.get(asked, (asked or "",))
    for name in names:
        found = _working(name)
        if found:
            return found, _properties(name, threads)
    there = ", ".join(name for name in FASTEST_FIRST if _working(name))
    raise UserError(
        f"OpenMM's platform {asked} does not work here, and {there} do; set SOPHRON_PLATFORM to one of them."
    )


def described(context: Any) -> str:
    """Program, version and platform of a context."""
    return f"OpenMM {openmm().version.version} {context.getPlatform().getName()}"


def _properties(name: str, threads: int) -> dict[str, str]:
    if name in GRAPHICS:
        return {"Precision": "mixed"}
    return {"Threads": str(threads)} if name == "CPU" else {}


def _working(name: str) -> Any:
    """The platform called `name` if one particle can be put on it; a listed one may lack its device."""
    module = openmm()
    listed = {module.Platform.getPlatform(at).getName() for at in range(module.Platform.getNumPlatforms())}
    if name not in listed:
        return None
    system = module.System()
    system.addParticle(1.0)
    found = module.Platform.getPlatformByName(name)
    try:
        module.Context(system, module.VerletIntegrator(0.001), found)
    except module.OpenMMException:
        return None
    return found
