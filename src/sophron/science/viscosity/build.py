"""Stage build: the interaction model and the start configuration of beads; where later stages begin from a system."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.records.files import write_text
from sophron.records.typed_json import from_json
from sophron.science.lammps import stage_run
from sophron.science.lammps.render import FileName, FreeText, Word

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Positions = NDArray[np.float64]


def run(ctx: StepContext) -> StepResult:
    """Place the beads from the step's seed and write `system.data`.

    EngineFailure if atoms, density, volume, chain length and model contradict each other.
    """
    import numpy as np

    definition = from_json(BuildDefinition, ctx.definition)
    atoms, chain_length = definition.atoms, definition.chain_length
    volume = checked_volume(definition)
    length = volume ** (1 / 3)
    rng = np.random.default_rng(ctx.seed)
    chains = atoms // chain_length if chain_length > 1 else 0
    system = walks(chains, chain_length, length, rng) if chains else lattice(atoms, length, rng)
    path = ctx.workdir / "system.data"
    write_data(path, system)
    result = {
        "atoms": len(system.positions),
        "chain_length": chain_length,
        "chains": chains,
        "bonds": chains * (chain_length - 1),
        "volume": volume,
        "density": len(system.positions) / volume,
        "box_length": length,
        "internal_distance_ratio": internal_distance_ratio(system),
        "end_to_end_squared": float(internal_distances(system)[-1]) if chains else None,
        "model": dict(ctx.definition["model"]),
    }
    return StepResult(result, {"system": path}, {"numpy": np.__version__})


BOND_LENGTH = 0.97
"""Mean FENE bond of the melt in sigma (Kremer and Grest 1990, 10.1063/1.458541)."""

LEAST_SECOND_NEIGHBOUR = 1.02
"""Least |r_i - r_(i+2)| in sigma of a walk with the melt's internal distances (Auhl et al. 2003, 10.1063/1.1628670)."""

COS_MIN = LEAST_SECOND_NEIGHBOUR**2 / (2 * BOND_LENGTH**2) - 1
"""Least cosine between successive bonds that respects `LEAST_SECOND_NEIGHBOUR`."""

SHORT_CUTOFF = 1.5
SKINS = {True: 0.5, False: 0.3}
"""Reach of neighbour lists beyond a cut-off below `SHORT_CUTOFF`, and beyond a longer one, in sigma: the fastest ones
at melt density (measured: 0.5 is 18 % faster than 0.3 for WCA chains, and 7 to 20 % slower at a cut-off of 2.5)."""

GHOST = 1.2
"""Ghost beads are kept up to this many largest bond extensions, so that no bond loses its partner."""

VOLUME_TOLERANCE = 1e-3
"""Relative disagreement of atoms, volume and density that is taken for rounding."""


@dataclass(frozen=True)
class Bonds:
    """FENE bonds: spring constant k (epsilon/sigma^2) and largest extension r0 (sigma)."""

    k: float
    r0: float


@dataclass(frozen=True)
class Model:
    """12-6 Lennard-Jones beads, cut at `cutoff` (sigma), with or without an energy shift and FENE bonds."""

    cutoff: float
    shift: bool
    bonds: Bonds | None = None
    special_bonds: str | None = None

    @classmethod
    def of(cls, block: Mapping[str, object]) -> Self:
        """From the `model` of a valid definition or result."""
        given = from_json(cls, block)
        bonds = given.bonds and Bonds(float(given.bonds.k), float(given.bonds.r0))
        return replace(given, cutoff=float(given.cutoff), bonds=bonds)

    def values(self) -> dict[str, float]:
        """Return what the input templates need to know of the model."""
        skin = SKINS[self.cutoff < SHORT_CUTOFF]
        values: dict[str, float] = {"cutoff": self.cutoff, "shift": self.shift, "skin": skin, "bonded": False}
        if self.bonds is not None:
            values |= {"bonded": True, "bond_k": self.bonds.k, "bond_r0": self.bonds.r0}
            values |= {"fene": self.special_bonds == "fene"}
            values |= {"ghost_cutoff": max(self.cutoff + skin, GHOST * self.bonds.r0)}
        return values


@dataclass(frozen=True)
class System:
    """A configuration: unwrapped positions (atoms, 3) in sigma, ordered chain by chain, in a cubic box [0, length)."""

    positions: Positions
    length: float
    chain_length: int = 1

    @property
    def chains(self) -> Positions:
        """Positions as (chains, chain_length, 3)."""
        return self.positions.reshape(-1, self.chain_length, 3)


@dataclass(frozen=True)
class BuildDefinition:
    """Definition of the stage build (`viscosity/schema.yaml`)."""

    atoms: int
    chain_length: int
    density: float
    model: Model
    volume: float | None = None


def checked_volume(definition: BuildDefinition) -> float:
    """Return the volume in sigma^3; EngineFailure if atoms, density, volume, chains and model contradict each other."""
    atoms, length, density = definition.atoms, definition.chain_length, float(definition.density)
    volume = atoms / density
    if definition.volume is not None and abs(definition.volume / volume - 1) > VOLUME_TOLERANCE:
        raise EngineFailure(
            f"build.definition: {atoms} beads in a volume of {definition.volume} are a density of "
            f"{atoms / definition.volume:.4g}, not {density}; correct atoms, volume or density"
        )
    if atoms % length:
        raise EngineFailure(f"build.definition.atoms: {atoms} beads do not make whole chains of {length}")
    if (length > 1) != (definition.model.bonds is not None):
        raise EngineFailure("build.definition.model.bonds: chains need bonds, and single beads have none")
    if definition.model.cutoff > volume ** (1 / 3) / 2:
        raise EngineFailure(
            f"build.definition.model.cutoff: {definition.model.cutoff} is over half the box edge "
            f"{volume ** (1 / 3):.4g}; take more atoms"
        )
    return volume


def lattice(atoms: int, length: float, rng: np.random.Generator) -> System:
    """Face-centred cubic lattice that fills the box; sites beyond `atoms` are left out at random."""
    import numpy as np

    cells = math.ceil((atoms / 4) ** (1 / 3) - 1e-9)
    corner = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    basis = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    sites = (corner + basis + 0.25).reshape(-1, 3) * (length / cells)
    kept = np.sort(rng.permutation(len(sites))[:atoms])
    return System(sites[kept], length)


def walks(chains: int, chain_length: int, box: float, rng: np.random.Generator) -> System:
    """Return the chains as random walks with the melt's internal distances, started anywhere in the box.

    Each bond is `BOND_LENGTH` long; its angle to the one before is uniform over the sphere if the second
    neighbour stays `LEAST_SECOND_NEIGHBOUR` away (Auhl et al. 2003, 10.1063/1.1628670). Chains overlap.
    """
    import numpy as np

    bonds = np.empty((chains, chain_length - 1, 3))
    bonds[:, 0] = _unit(rng.normal(size=(chains, 3)))
    for i in range(1, chain_length - 1):
        cosine = rng.uniform(COS_MIN, 1.0, size=(chains, 1))
        before = bonds[:, i - 1]
        across = rng.normal(size=(chains, 3))
        across = _unit(across - (across * before).sum(axis=1, keepdims=True) * before)
        bonds[:, i] = cosine * before + np.sqrt(1 - cosine**2) * across
    start = rng.uniform(0, box, size=(chains, 1, 3))
    steps = BOND_LENGTH * np.cumsum(bonds, axis=1)
    return System(np.concatenate([start, start + steps], axis=1).reshape(-1, 3), box, chain_length)


def _unit(vectors: Positions) -> Positions:
    import numpy as np

    unit: Positions = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit


def melt_internal_distances(chain_length: int) -> Positions:
    """Return the mean squared internal distances of the melt in sigma^2, for separations 1 .. chain_length - 1.

    Freely rotating chain with the mean cosine of `walks`: characteristic ratio 1.76, the value of the
    Kremer-Grest melt (Kremer and Grest 1990, 10.1063/1.458541, table II; Auhl et al. 2003).
    """
    import numpy as np

    n = np.arange(1, chain_length, dtype=np.float64)
    s = (1 + COS_MIN) / 2
    distances: Positions = n * BOND_LENGTH**2 * ((1 + s) / (1 - s) - 2 * s * (1 - s**n) / (n * (1 - s) ** 2))
    return distances


def internal_distances(system: System) -> Positions:
    """Return the mean squared internal distances in sigma^2 over all chains, for separations 1 .. chain_length - 1."""
    import numpy as np

    chains = system.chains
    return np.array([((chains[:, s:] - chains[:, :-s]) ** 2).sum(axis=-1).mean() for s in range(1, chains.shape[1])])


def internal_distance_ratio(system: System) -> float | None:
    """Return the mean over separations of internal distances over those of the melt; None without chains."""
    if system.chain_length == 1:
        return None
    ratios = internal_distances(system) / melt_internal_distances(system.chain_length)
    return float(ratios.mean())


def longest_bond(system: System) -> float | None:
    """Return the length of the longest bond in sigma; None without chains."""
    import numpy as np

    if system.chain_length == 1:
        return None
    return float(np.sqrt((np.diff(system.chains, axis=1) ** 2).sum(axis=-1)).max())


def write_data(path: Path, system: System) -> None:
    """Write a LAMMPS data file (atom style `atomic`, or `bond` for chains); 17 digits, so that nothing is lost."""
    bonded = system.chain_length > 1
    atoms = len(system.positions)
    lines = ["beads in LJ units", "", f"{atoms} atoms", "1 atom types"]
    pairs = [i for i in range(1, atoms) if i % system.chain_length] if bonded else []
    if bonded:
        lines += [f"{len(pairs)} bonds", "1 bond types"]
    lines += ["", *(f"0.0 {system.length!r} {axis}lo {axis}hi" for axis in "xyz"), "", "Masses", "", "1 1.0"]
    lines += ["", f"Atoms # {'bond' if bonded else 'atomic'}", ""]
    for i, (x, y, z) in enumerate(system.positions.tolist()):
        molecule = f" {i // system.chain_length + 1}" if bonded else ""
        lines.append(f"{i + 1}{molecule} 1 {x!r} {y!r} {z!r}")
    if bonded:
        lines += ["", "Bonds", "", *(f"{k + 1} 1 {i} {i + 1}" for k, i in enumerate(pairs))]
    write_text(path, "\n".join(lines) + "\n")


def read_positions(path: Path, chain_length: int) -> System:
    """Read a data file that LAMMPS wrote (`write_data ... nocoeff`), back to unwrapped positions in order of ids."""
    import numpy as np

    lines = path.read_text().splitlines()
    low, high = next((float(w[0]), float(w[1])) for w in map(str.split, lines) if w[2:] == ["xlo", "xhi"])
    start = next(i for i, line in enumerate(lines) if line.startswith("Atoms")) + 2
    count = next(int(w[0]) for w in map(str.split, lines) if w[1:] == ["atoms"])
    table = np.array([line.split() for line in lines[start : start + count]], dtype=np.float64)
    table = table[np.argsort(table[:, 0])]
    first = 2 if chain_length == 1 else 3
    positions = table[:, first : first + 3] + table[:, first + 3 : first + 6] * (high - low) - low
    return System(positions, high - low, chain_length)


@dataclass(frozen=True)
class SystemData:
    """What a result repeats of the system that its step was given. volume: in sigma^3; model: as the definition."""

    atoms: int
    chain_length: int
    bonds: int
    volume: float
    density: float
    model: Mapping[str, object]


Start = stage_run.Start[SystemData]


def begin(ctx: StepContext, stage: str) -> Start:
    """Start from the upstream `stage`; its system is copied into the work folder as `start.data`."""
    step, system = stage_run.begin(ctx, stage, SystemData)
    model = Model.of(system.model)
    style = Word("bond" if model.bonds else "atomic")
    values = {**model.values(), "atom_style": style, "data": FileName(stage_run.START), "restart": None}
    return Start(step, system, values)


def free_text(ctx: StepContext) -> FreeText | None:
    """Return the definition's fragments, if it has any."""
    lines: Sequence[str] = ctx.definition.get("fragments", ())
    return FreeText(tuple(lines)) if lines else None
