"""The viscosity kind: shear viscosity of a bead liquid or melt by Green-Kubo, with cross-checks, and its diffusion.

Read by every verb at start-up, so it imports nothing heavy; what runs a stage is named, not imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sophron.interfaces.kind import Definition, Kind, Question, stage_of

_REPLICA = ("replica",)
_SYSTEM = {"system": "system.data"}


def ranges(definitions: Mapping[str, Definition]) -> dict[str, Sequence[str]]:
    """Return the values of the wildcards: `replica` counts `green_kubo.replicas` from 0, `rate` lists `shear.rates`.

    A rate is written as Python's shortest form (`0.01`, `1e-05`): it is a folder name as well.
    """
    values: dict[str, Sequence[str]] = {}
    if "green_kubo" in definitions:
        values["replica"] = [str(replica) for replica in range(definitions["green_kubo"]["replicas"])]
    if "shear" in definitions:
        values["rate"] = [repr(float(rate)) for rate in definitions["shear"]["rates"]]
    return values


def question(definitions: Mapping[str, Definition]) -> Question:
    """Ask for viscosities of beads, in Lennard-Jones units; with a stage diffusion, for that as well."""
    unit = "epsilon tau sigma^-3 (LJ)"
    diffusion = {"diffusion coefficient": "sigma^2 tau^-1 (LJ)"} if "diffusion" in definitions else {}
    return Question(
        quantities={"shear viscosity": unit, "zero-rate shear viscosity": unit, **diffusion},
        conditions={"density": "sigma^-3", "temperature": "epsilon/k_B", "chain_length": "none", "cutoff": "sigma"},
        reduced=True,
    )


_stage = partial(stage_of, "viscosity")
_lammps = partial(_stage, engine="lammps")
_analysis = partial(_stage, rederivable=True)


KIND = Kind(
    name="viscosity",
    about="Shear viscosity of a Lennard-Jones liquid or bead-spring melt (LAMMPS) by Green-Kubo, with a "
    "cross-check under shear; its diffusion coefficient",
    rules="viscosity.smk",
    stages=(
        _analysis("build", wildcards=_REPLICA, outputs=_SYSTEM),
        _lammps("relax", "build", wildcards=_REPLICA, outputs=_SYSTEM),
        _lammps("equilibrate", "relax", wildcards=_REPLICA, outputs=_SYSTEM, fragments=("fragments",)),
        _lammps(
            "produce",
            "equilibrate",
            wildcards=_REPLICA,
            outputs={"stress": "stress.npz", "trajectory": "trajectory.npz"},
            fragments=("fragments",),
        ),
        _analysis(
            "green_kubo",
            "produce",
            outputs={"curves": "curves.npz", "acf_plot": "acf.svg", "integral_plot": "integral.svg"},
        ),
        _lammps("shear", "equilibrate", wildcards=("rate", "replica"), outputs={"stress": "stress.npz"}, optional=True),
        _analysis("rouse", "produce", outputs={"modes_plot": "modes.svg"}, optional=True),
        _analysis(
            "diffusion", "produce", "green_kubo", outputs={"displacement_plot": "displacement.svg"}, optional=True
        ),
        _analysis("cross_check", "green_kubo", "shear", outputs={"rates_plot": "rates.svg"}, optional=True),
    ),
    ranges=ranges,
    question=question,
    planted_faults="viscosity/planted_faults.yaml",
)
