"""Stage build: chains as random walks in a box."""

from __future__ import annotations

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.science.chain_conformation.model import Model
from sophron.science.viscosity import models


def run(ctx: StepContext) -> StepResult:
    """Draw the chains from the step's seed and write `system.data`. Chains overlap: equilibrate pulls them apart.

    EngineFailure if the model contradicts itself or the box is too small for it.
    """
    import numpy as np

    definition = ctx.definition
    model = Model.of(definition["model"])
    beads = definition["chains"] * definition["chain_length"]
    volume = beads / float(definition["density"])
    length = volume ** (1 / 3)
    if length < 2 * model.values()["ghost_cutoff"]:
        raise EngineFailure(f"build.definition.chains: the box edge {length:.4g} sigma is too short; take more chains")
    rng = np.random.default_rng(ctx.seed)
    system = models.walks(definition["chains"], definition["chain_length"], length, rng)
    path = ctx.workdir / "system.data"
    models.write_data(path, system)
    result = {
        "chains": definition["chains"],
        "chain_length": definition["chain_length"],
        "beads": beads,
        "volume": volume,
        "box_length": length,
        "model": dict(definition["model"]),
    }
    return StepResult(result, {"system": path}, {"numpy": np.__version__})
