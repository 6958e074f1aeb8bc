"""Stage build: the start configuration, a lattice for single beads or random walks for chains."""

from __future__ import annotations

from sophron.interfaces.kind import StepContext, StepResult
from sophron.records.typed_json import from_json
from sophron.science.viscosity import models


def run(ctx: StepContext) -> StepResult:
    """Place the beads from the step's seed and write `system.data`.

    EngineFailure if atoms, density, volume, chain length and model contradict each other.
    """
    import numpy as np

    definition = from_json(models.BuildDefinition, ctx.definition)
    atoms, chain_length = definition.atoms, definition.chain_length
    volume = models.checked_volume(definition)
    length = volume ** (1 / 3)
    rng = np.random.default_rng(ctx.seed)
    chains = atoms // chain_length if chain_length > 1 else 0
    system = models.walks(chains, chain_length, length, rng) if chains else models.lattice(atoms, length, rng)
    path = ctx.workdir / "system.data"
    models.write_data(path, system)
    result = {
        "atoms": len(system.positions),
        "chain_length": chain_length,
        "chains": chains,
        "bonds": chains * (chain_length - 1),
        "volume": volume,
        "density": len(system.positions) / volume,
        "box_length": length,
        "internal_distance_ratio": models.internal_distance_ratio(system),
        "end_to_end_squared": float(models.internal_distances(system)[-1]) if chains else None,
        "model": dict(ctx.definition["model"]),
    }
    return StepResult(result, {"system": path}, {"numpy": np.__version__})
