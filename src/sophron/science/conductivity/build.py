"""Stage build: a perfect crystal, and the potential by name and digest."""

from __future__ import annotations

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.records.digests import file_digest
from sophron.records.typed_json import to_json
from sophron.science.conductivity.crystal import SUBLATTICES, crystal, write_data
from sophron.science.conductivity.lammps_start import Interactions, SystemData
from sophron.science.lammps import potentials
from sophron.science.lammps.executable import find


def run(ctx: StepContext) -> StepResult:
    """Place the atoms and write `system.data`. A liquid begins as a crystal too: equilibrate melts it.

    EngineFailure if species and lattice do not fit each other, the potential is not there, or the box is too thin.
    """
    import numpy as np

    definition = ctx.definition
    lattice, species = definition["lattice"], definition["species"]
    if len(species) != len(SUBLATTICES[lattice["style"]]):
        raise EngineFailure(
            f"build.definition.species: a {lattice['style']} lattice has {len(SUBLATTICES[lattice['style']])} species, "
            f"not {len(species)}"
        )
    atoms = crystal(lattice["style"], float(lattice["constant"]), definition["cells"])
    if 2 * definition.get("cutoff", 0.0) > min(atoms.box):
        raise EngineFailure(
            f"build.definition.cutoff: {definition['cutoff']} is over half the shortest edge {min(atoms.box):.4g}; "
            "take more cells"
        )
    path = ctx.workdir / "system.data"
    write_data(path, atoms, [float(one["mass"]) for one in species])
    volume = float(np.prod(atoms.box))
    result = SystemData(
        atoms=len(atoms.positions),
        cells=definition["cells"],
        box=atoms.box,
        volume=volume,
        density=len(atoms.positions) / volume,
        model=_model(ctx),
    )
    return StepResult(to_json(result), {"system": path}, {"numpy": np.__version__})


def _model(ctx: StepContext) -> Interactions:
    definition = ctx.definition
    file = definition.get("potential")
    return Interactions(
        units=definition["units"],
        pair_style=definition["pair_style"],
        elements=tuple(one["element"] for one in definition["species"]),
        potential=file,
        potential_sha256=file_digest(potentials.path(find(), file)) if file else None,
        cutoff=definition.get("cutoff"),
    )
