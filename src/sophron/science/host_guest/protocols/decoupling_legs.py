"""Both legs of double decoupling, ready to run, and on disk between steps: the guest in its host, and by itself.

The leg in the host stands on attach-pull-release's own preparation: the host is held against dummies, and wall and
lock keep a guest that is hardly restrained in its site. Windows of both legs are numbered in one row, the host's first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.files import write_json, write_text
from sophron.science.estimators.mbar import Estimate, Run, estimate
from sophron.science.estimators.refusal import Refusal
from sophron.science.estimators.restraints import Frame, Harmonic, rt
from sophron.science.estimators.thermodynamic_cycle import Term
from sophron.science.host_guest.preparation.complex_builder import Built, Complex
from sophron.science.host_guest.protocols import analysis, apr_setup, decoupling, residual_interaction
from sophron.science.host_guest.protocols.apr_setup import Experiment
from sophron.science.host_guest.protocols.decoupling import Decoupled
from sophron.science.host_guest.protocols.lambda_schedule import Lambdas, Stage
from sophron.science.host_guest.sampling import npz, openmm_system
from sophron.science.host_guest.sampling.equilibration import Relaxed
from sophron.science.host_guest.sampling.openmm_system import KJ_PER_KCAL, openmm
from sophron.science.host_guest.sampling.samples import Sampled
from sophron.science.host_guest.sampling.window_sampling import COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES = ("host", "alone")
ION_NAMES = {"Na+": 1, "Cl-": -1}


@dataclass(frozen=True)
class Leg:
    """One of both. complex: that it stands on, None by itself; frame: of the six restraints, None by itself."""

    system: Any
    windows: tuple[Stage, ...]
    temperature_k: float
    positions_a: NDArray[np.float64]
    box_a: tuple[float, float, float] | None
    complex: Experiment | None = None
    frame: Frame | None = None

    def with_windows(self, windows: Sequence[Stage]) -> Leg:
        """The same with other windows."""
        return replace(self, windows=tuple(windows))

    def apply(self, context: Any, window: Stage) -> None:
        """Make a context that of one window; what a leg does not have is left out."""
        values = {
            "lambda_electrostatics": window.electrostatics,
            "lambda_sterics": window.sterics,
            "held": window.strength,
            "walled": 1.0 if window.walled else 0.0,
        }
        known: Mapping[str, float] = context.getParameters()
        for name in values.keys() & known.keys():
            context.setParameter(name, values[name])

    def coordinates(self, positions_a: NDArray[np.float64]) -> tuple[float, float, float, float, float]:
        """As in the complex; zeros by itself, for there is nothing to measure."""
        return self.complex.coordinates(positions_a) if self.complex else (0.0, 0.0, 0.0, 0.0, 0.0)

    def energies(self, context: Any) -> tuple[float, ...]:
        """Reduced energies of where a context stands, in all windows; the context is left in the last one."""
        unit = KJ_PER_KCAL * rt(self.temperature_k)
        found = []
        for window in self.windows:
            self.apply(context, window)
            found.append(float(context.getState(getEnergy=True).getPotentialEnergy()._value) / unit)  # noqa: SLF001 - kJ/mol
        return tuple(found)

    def reduced(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Reduced energies that were sampled with the rest, shape (windows, samples)."""
        return values[len(COLUMNS) :]

    def runs(self, sampled: Sequence[Sampled]) -> list[Run]:
        """What MBAR needs; windows of `sampled` are this leg's own."""
        slow = 3 if self.complex else 0
        return [Run(each.window, self.reduced(each.values), each.values[:slow], each.seeded) for each in sampled]

    def save(self, folder: Path) -> None:
        """Write `system.xml`, `leg.json` and `start.npz`; the complex is `Legs.save`'s."""
        write_text(folder / "system.xml", openmm().XmlSerializer.serialize(self.system))
        npz.write(folder / "start.npz", {"positions_a": self.positions_a})
        described = {
            "windows": [asdict(window) for window in self.windows],
            "temperature_k": self.temperature_k,
            "box_a": self.box_a,
            "frame": asdict(self.frame) if self.frame else None,
        }
        write_json(folder / "leg.json", described)

    @classmethod
    def load(cls, folder: Path, made: Experiment | None) -> Leg:
        """Read what `save` wrote."""
        stored = documents.load_json(folder / "leg.json")
        box, frame = stored["box_a"], stored["frame"]
        return cls(
            system=openmm().XmlSerializer.deserialize((folder / "system.xml").read_text()),
            windows=tuple(Stage(**each) for each in stored["windows"]),
            temperature_k=stored["temperature_k"],
            positions_a=np.load(folder / "start.npz")["positions_a"],
            box_a=(box[0], box[1], box[2]) if box else None,
            complex=made,
            frame=Frame(**{name: Harmonic(**each) for name, each in frame.items()}) if frame else None,
        )


@dataclass(frozen=True)
class Legs:
    """Both of them."""

    host: Leg
    alone: Leg

    @property
    def windows(self) -> int:
        """Of both together."""
        return len(self.host.windows) + len(self.alone.windows)

    def of(self, places: range) -> Iterator[tuple[str, Leg, range]]:
        """Of windows in the common row: the name of their leg, the leg, and their places in it."""
        first = len(self.host.windows)
        inside, outside = (
            range(min(places.start, first), min(places.stop, first)),
            range(max(places.start - first, 0), max(places.stop - first, 0)),
        )
        for name, leg, own in zip(NAMES, (self.host, self.alone), (inside, outside), strict=True):
            if own:
                yield name, leg, own

    def row(self, name: str, place: int) -> int:
        """Place in the common row of a leg's window."""
        return place if name == "host" else place + len(self.host.windows)

    def in_row(self, name: str, reduced: NDArray[np.float64]) -> NDArray[np.float64]:
        """Reduced energies of a leg's samples in the common row, shape (windows, samples); NaN in the other leg's."""
        whole = np.full((self.windows, reduced.shape[1]), np.nan)
        first = self.row(name, 0)
        whole[first : first + len(reduced)] = reduced
        return whole

    def split(self, sampled: Sequence[Sampled]) -> tuple[list[Sampled], list[Sampled]]:
        """Samples of each leg, from those of the common row."""
        first = len(self.host.windows)
        alone = [replace(each, window=each.window - first) for each in sampled if each.window >= first]
        return [each for each in sampled if each.window < first], alone

    def save(self, folder: Path) -> None:
        """Write each leg, and the complex that one stands on, into folders of their own."""
        assert self.host.complex is not None  # noqa: S101 - `prepare` and `load` see to it
        self.host.complex.save(folder / "complex")
        self.host.save(folder / "host")
        self.alone.save(folder / "alone")

    @classmethod
    def load(cls, folder: Path) -> Legs:
        """Read what `save` wrote."""
        made = Experiment.load(folder / "complex")
        return cls(Leg.load(folder / "host", made), Leg.load(folder / "alone", None))


def prepare(
    built: Complex, relaxed: Relaxed, alone: Relaxed, temperature_k: float, *, locked: bool, lambdas: Lambdas
) -> Legs:
    """Both legs from a relaxed complex and its guest, relaxed by itself; `build` was asked for both.

    locked: as in `experiment.prepare`. UserError if no six atoms can be held against each other, or ions lack.
    """
    made = apr_setup.prepare(built, relaxed, apr_setup.Protocol(), temperature_k, locked=locked)
    guest = range(built.host_atoms, built.atoms)
    chosen = decoupling.choose_anchors(made.positions_a, built.anchors.host, _rows(built.prmtop, guest))
    frame = decoupling.frame_at(made.positions_a, chosen)
    system = _decoupling(made.system, built, guest, relaxed)
    decoupling.add_boresch_restraints(system, chosen, frame)
    bound = Leg(system, lambdas.bound, temperature_k, made.positions_a, made.box_a, made, frame)
    plain, _ = openmm_system.solvated(built.alone.prmtop, built.solvent)
    free = _decoupling(plain, built.alone, range(built.alone.atoms), alone)
    return Legs(bound, Leg(free, lambdas.alone, temperature_k, alone.positions_a, alone.box_a))


def binding(legs: Legs, sampled: Sequence[Sampled], task: Mapping[str, object]) -> Decoupled | Refusal:
    """The sum of the cycle with corrections by a task's metadata, or why there is no number.

    Windows of a refusal are those of the common row.
    """
    scarce = analysis.too_short(sampled)
    if scarce:
        return scarce
    found: list[Estimate] = []
    parts = legs.split(sampled)
    for name, leg, part in zip(NAMES, (legs.host, legs.alone), parts, strict=True):
        one = estimate(leg.runs(part), leg.temperature_k)
        if isinstance(one, Refusal):
            places = tuple(legs.row(name, each) for each in one.windows)
            where = "in the host" if name == "host" else f"of the guest alone (the row from {legs.row(name, 0)} on)"
            return replace(one, sentence=f"{where}: {one.sentence}", windows=places)
        found.append(one)
    bound = legs.host.complex
    assert bound is not None and legs.host.frame is not None  # noqa: S101, PT018 - as in `save`
    more = analysis.corrected(bound, parts[0], found[0], task)
    if isinstance(more, Refusal):
        return more
    walls = _ion_walls(legs, bound)
    return decoupling.binding(found[0], found[1], legs.host.frame, legs.host.temperature_k, [*walls, *more])


def _ion_walls(legs: Legs, bound: Experiment) -> list[Term]:
    """The term of the ions that lose their charge with the guest; none without a box or for a guest without charge."""
    charges = residual_interaction.charges_of(bound)
    if legs.host.box_a is None or legs.alone.box_a is None or not round(float(charges.guest.sum())):
        return []
    volumes = (math.prod(legs.host.box_a), math.prod(legs.alone.box_a))
    return [decoupling.ion_wall(charges, volumes, legs.host.temperature_k)]


def _decoupling(system: Any, built: Built, guest: range, relaxed: Relaxed) -> Any:
    """The alchemical system, in a box with the ions that lose their charge with the guest."""
    made = decoupling.alchemical(system, guest)
    if built.solvent == "obc2":
        return made
    charge = _charge(system, guest)
    if charge:
        decoupling.couple_ions(made, _counterions(built.prmtop, charge, relaxed, guest), guest[0])
    return made


def _charge(system: Any, guest: range) -> int:
    """Of the guest, in elementary charges."""
    (force,) = (each for each in system.getForces() if isinstance(each, openmm().NonbondedForce))
    charge: float = sum(force.getParticleParameters(at)[0]._value for at in guest)  # noqa: SLF001 - in e
    return round(charge)


def _counterions(prmtop: Path, charge: int, relaxed: Relaxed, guest: range) -> list[int]:
    """As many ions of the opposite sign as the guest has charges, the farthest from it."""
    from openmm import app

    sign = -1 if charge > 0 else 1
    atoms = app.AmberPrmtopFile(str(prmtop)).topology.atoms()
    ions = [atom.index for atom in atoms if ION_NAMES.get(atom.residue.name) == sign]
    if len(ions) < abs(charge):
        raise UserError(f"{prmtop.name} has {len(ions)} ions for a guest of {charge:+d} e; build it with alone=True.")
    apart = relaxed.positions_a[ions] - relaxed.positions_a[guest[0]]
    edges = np.array(relaxed.box_a)
    apart -= edges * np.round(apart / edges)
    farthest = np.argsort(-np.linalg.norm(apart, axis=1), kind="stable")
    return [ions[place] for place in farthest[: abs(charge)]]


def _rows(prmtop: Path, guest: range) -> Iterator[tuple[int, int, int]]:
    """Three heavy atoms of the guest that are bonded in a row, each once."""
    from openmm import app

    beside: dict[int, list[int]] = {}
    for bond in app.AmberPrmtopFile(str(prmtop)).topology.bonds():
        pair = (bond.atom1, bond.atom2)
        if all(atom.index in guest and atom.element.symbol != "H" for atom in pair):
            for one, other in permutations(pair):
                beside.setdefault(one.index, []).append(other.index)
    for middle, ends in sorted(beside.items()):
        for first, last in permutations(sorted(ends), 2):
            if first < last:
                yield first, middle, last
