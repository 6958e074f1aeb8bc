"""Attach-pull-release of one complex, ready to run: system, dummies, restraints, windows; on disk between steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.records import documents
from sophron.records.files import write_json, write_text
from sophron.records.typed_json import from_json
from sophron.science.estimators.restraints import Frame, Harmonic, rt
from sophron.science.host_guest.preparation import geometry
from sophron.science.host_guest.preparation.complex_builder import Complex
from sophron.science.host_guest.protocols import apr, restrained_system
from sophron.science.host_guest.protocols.apr import Wall, Window
from sophron.science.host_guest.protocols.restrained_system import DirectionRestraint, RestrainedParticles, Site
from sophron.science.host_guest.sampling import npz, openmm_system
from sophron.science.host_guest.sampling.equilibration import Relaxed
from sophron.science.host_guest.sampling.openmm_system import openmm

if TYPE_CHECKING:
    from numpy.typing import NDArray

WALL_BEYOND_A = 4.0
"""How far a bound guest may go from where it was built, measured from the host's centre."""
WALL_K = 50.0
"""kcal/mol/Angstrom^2 (Taproom)"""


@dataclass(frozen=True)
class Protocol:
    """What is chosen of attach-pull-release.

    strengths: of the attach windows, from 0, below 1; spacing_a: of the pull windows' targets; pull_a: how far the
    guest is pulled; k: of the distance, kcal/mol/Angstrom^2; k_angle: of theta and beta, kcal/mol/rad^2.
    """

    strengths: tuple[float, ...] = (0.0, 0.004, 0.016, 0.055, 0.181, 0.496)
    spacing_a: float = 0.4
    pull_a: float = 12.0
    k: float = 5.0
    k_angle: float = 100.0

    @property
    def frame(self) -> Frame:
        """Restraints of the guest where the pull begins."""
        straight = Harmonic(180.0, self.k_angle)
        return Frame(Harmonic(geometry.BEHIND_A[0], self.k), theta=straight, beta=straight)


@dataclass(frozen=True)
class Experiment:
    """system: with dummies, and restraints that `forces.apply` sets; implicit: no water, so no prediction.

    positions_a: of all particles at the start, shape (particles, 3); box_a: edges, None without a box.
    """

    system: Any
    held: RestrainedParticles
    site: Site
    windows: tuple[Window, ...]
    temperature_k: float
    positions_a: NDArray[np.float64]
    box_a: tuple[float, float, float] | None
    implicit: bool

    @property
    def frame(self) -> Frame:
        """Restraints of the last window, from which the guest is released."""
        return self.windows[-1].frame

    def save(self, folder: Path) -> None:
        """Write `system.xml`, `experiment.json` and `start.npz`, the windows last."""
        write_text(folder / "system.xml", openmm().XmlSerializer.serialize(self.system))
        npz.write(folder / "start.npz", {"positions_a": self.positions_a})
        described = {
            "held": asdict(self.held),
            "site": asdict(self.site),
            "windows": [asdict(window) for window in self.windows],
            "temperature_k": self.temperature_k,
            "box_a": self.box_a,
            "implicit": self.implicit,
        }
        write_json(folder / "experiment.json", described)

    @classmethod
    def load(cls, folder: Path) -> Experiment:
        """Read what `save` wrote."""
        stored = documents.load_json(folder / "experiment.json")
        box = stored["box_a"]
        return cls(
            system=openmm().XmlSerializer.deserialize((folder / "system.xml").read_text()),
            held=from_json(RestrainedParticles, stored["held"]),
            site=from_json(Site, stored["site"]),
            windows=tuple(from_json(Window, each) for each in stored["windows"]),
            temperature_k=stored["temperature_k"],
            positions_a=np.load(folder / "start.npz")["positions_a"],
            box_a=(box[0], box[1], box[2]) if box else None,
            implicit=stored["implicit"],
        )

    def apply(self, context: Any, window: Window) -> None:
        """Make a context that of one window."""
        restrained_system.apply(context, window)

    def coordinates(self, positions_a: NDArray[np.float64]) -> tuple[float, float, float, float, float]:
        """Distance, theta, beta, distance from the host's centre, and the lock's angle, in Angstrom and degrees."""
        return restrained_system.coordinates(positions_a, self.held)

    def energies(self, context: Any) -> tuple[float, ...]:
        """None: coordinates say all that windows differ in."""
        del context
        return ()

    def reduced(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Reduced energies of samples in all windows, shape (windows, samples); the site's wall in those that have one.

        values: shape (columns, samples), `sampling.COLUMNS`.
        """
        walls = restrained_system.energies(self.site, values[3], values[4]) / rt(self.temperature_k)
        plain = [replace(window, wall=None) for window in self.windows]
        walled = np.array([window.wall is not None for window in self.windows])
        return np.asarray(apr.reduced(plain, values[:3], self.temperature_k) + np.outer(walled, walls))

    def with_windows(self, windows: Sequence[Window]) -> Experiment:
        """The same with other windows."""
        return replace(self, windows=tuple(windows))


def chain(protocol: Protocol) -> tuple[Window, ...]:
    """Attach windows, which alone have the wall, and pull windows from the first target on."""
    frame = protocol.frame
    steps = round(protocol.pull_a / protocol.spacing_a)
    marker = Wall(0.0, WALL_K)  # where the wall stands is the site's; a window only says that it has one
    attach = [Window(frame, strength, marker) for strength in protocol.strengths]
    pull = [
        Window(at_distance(frame, frame.distance.target + place * protocol.spacing_a)) for place in range(steps + 1)
    ]
    return (*attach, *pull)


def at_distance(frame: Frame, distance_a: float) -> Frame:
    """The same restraints with another target of the distance."""
    return replace(frame, distance=Harmonic(distance_a, frame.distance.k))


def prepare(built: Complex, relaxed: Relaxed, protocol: Protocol, temperature_k: float, *, locked: bool) -> Experiment:
    """Put dummies behind the guest of a relaxed complex, and restraints whose energies are zero there.

    locked: keep the unrestrained guest to one of two equivalent directions. UserError where anchors lie in a line.
    """
    system, _ = openmm_system.solvated(built.prmtop, built.solvent)
    solute = relaxed.positions_a
    points = geometry.dummies(solute, built.anchors)
    held = RestrainedParticles(restrained_system.add_dummies(system), built.anchors, built.host_heavy)
    positions = np.concatenate([solute, points])
    restrained_system.hold_host(system, held, positions)
    begun = restrained_system.coordinates(positions, held)[3]
    site = Site(Wall(begun + WALL_BEYOND_A, WALL_K), DirectionRestraint() if locked else None)
    windows = chain(protocol)
    restrained_system.hold_guest(system, held, protocol.frame, site)
    return Experiment(system, held, site, windows, temperature_k, positions, relaxed.box_a, built.solvent == "obc2")
