"""Stage build: the interaction model and chains as random walks in a box; where later stages begin from a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.records.typed_json import from_json
from sophron.science.lammps import stage_run
from sophron.science.lammps.render import FileName
from sophron.science.viscosity.build import walks, write_data


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
    system = walks(definition["chains"], definition["chain_length"], length, rng)
    path = ctx.workdir / "system.data"
    write_data(path, system)
    result = {
        "chains": definition["chains"],
        "chain_length": definition["chain_length"],
        "beads": beads,
        "volume": volume,
        "box_length": length,
        "model": dict(definition["model"]),
    }
    return StepResult(result, {"system": path}, {"numpy": np.__version__})


WCA_CUTOFF = 2 ** (1 / 6)
SKIN = 0.5
REACH = 6.0
"""Ghost beads are kept up to this distance in sigma if springs may stretch without limit; at a temperature and
stiffness that give a mean bond of 1 sigma, one in 1e23 is longer."""
GHOST = 1.2
"""Otherwise up to this many largest bond extensions, so that no bond loses its partner."""


@dataclass(frozen=True)
class Bonds:
    """Bonds of chains.

    k: spring constant (epsilon/sigma^2; the energy of a harmonic bond is k r^2); r0: largest extension of FENE (sigma).
    """

    style: str
    k: float
    r0: float = 0.0


@dataclass(frozen=True)
class Model:
    """Beads that repel each other (WCA) on FENE bonds, or beads without volume on harmonic bonds: an ideal chain."""

    pair: str
    bonds: Bonds

    @classmethod
    def of(cls, block: Mapping[str, object]) -> Self:
        """From the `model` of a valid definition or result. EngineFailure if beads and bonds do not fit."""
        given = from_json(cls, block)
        bonds = given.bonds
        if given.ideal != (bonds.style == "harmonic"):
            raise EngineFailure("build.definition.model: wca goes with fene bonds, none with harmonic ones; change one")
        return cls(given.pair, Bonds(bonds.style, float(bonds.k), float(bonds.r0)))

    @property
    def ideal(self) -> bool:
        """Whether beads do not see each other."""
        return self.pair == "none"

    def values(self) -> dict[str, float]:
        """Return what the input templates need to know of the model."""
        cutoff = WCA_CUTOFF
        ghost = REACH if self.ideal else max(cutoff + SKIN, GHOST * self.bonds.r0)
        return {
            "ideal": self.ideal,
            "cutoff": cutoff,
            "skin": SKIN,
            "ghost_cutoff": ghost,
            "bond_k": self.bonds.k,
            "bond_r0": self.bonds.r0,
        }

    def exact_squared_radius(self, chain_length: int, temperature: float) -> float | None:
        """Return the mean squared radius of gyration in sigma^2 if there is a closed form, otherwise None.

        Discrete Gaussian chain of N beads: the sum over pairs i < j of (j - i) b^2 / N^2 is b^2 (N^2 - 1) / (6 N),
        with b^2 = 3 T / (2 k) the mean squared bond.
        """
        if not self.ideal:
            return None
        return 1.5 * temperature / self.bonds.k * (chain_length**2 - 1) / (6 * chain_length)


@dataclass(frozen=True)
class SystemData:
    """What a result repeats of the system that its step was given. volume: in sigma^3; model: as the definition."""

    chains: int
    chain_length: int
    beads: int
    volume: float
    box_length: float
    model: Mapping[str, object]


Start = stage_run.Start[SystemData]


def begin(ctx: StepContext, stage: str) -> Start:
    """Start from the upstream `stage`; its system is copied into the work folder as `start.data`."""
    step, system = stage_run.begin(ctx, stage, SystemData)
    return Start(step, system, {**Model.of(system.model).values(), "data": FileName(stage_run.START)})
