"""What a Rietveld engine is: from a state and a list of what may move to a better state, within a time bound."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sophron.interfaces import JsonObject

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Group = Literal[
    "background",  # all coefficients
    "scale",
    "cell",  # what the space group leaves free
    "zero",  # degrees
    "displacement",  # of the specimen, mm
    "profile_u",  # Gaussian FWHM^2 = U tan^2(theta) + V tan(theta) + W, degrees^2
    "profile_v",
    "profile_w",
    "profile_x",  # Lorentzian FWHM = X / cos(theta) + Y tan(theta), degrees
    "profile_y",
    "axial",  # S/L = H/L of axial divergence
    "size",  # Lorentzian broadening of the phase, as X
    "strain",  # as Y
    "position",  # what the site leaves free
    "u_iso",  # angstrom^2
    "occupancy",
    "preferred_orientation",  # March-Dollase ratio about the phase's axis
    "absorption",
]

Geometry = Literal["bragg_brentano", "debye_scherrer", "transmission"]
Radiation = Literal["xray", "neutron"]


@dataclass(frozen=True, eq=False)
class Pattern:
    """A powder pattern of constant wavelength. two_theta_deg rises; sigma: None if counts are raw (Poisson)."""

    name: str
    two_theta_deg: Array
    intensity: Array
    sigma: Array | None = None


@dataclass(frozen=True)
class Phase:
    """A crystalline phase. cif: text of a CIF; march_axis: hkl of preferred orientation, where there may be any."""

    name: str
    cif: str
    march_axis: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Instrument:
    """A diffractometer. wavelengths_angstrom: one line, or K-alpha 1 and 2 with their intensity ratio `ratio`.

    polarization: share of the beam polarised in the plane (0.5: none); radius_mm: of the goniometer; profile_u to _y
    as in Group; axial: S/L = H/L of axial divergence; absorption: mu t (flat specimen) or mu r (capillary), None for a
    thick specimen or no absorption; radiation: of one wavelength for neutrons, which have no polarization.
    """

    wavelengths_angstrom: tuple[float, ...]
    geometry: Geometry = "bragg_brentano"
    ratio: float = 0.5
    polarization: float = 0.5
    radius_mm: float = 200.0
    zero_deg: float = 0.0
    displacement_mm: float = 0.0
    profile_u: float = 0.0
    profile_v: float = 0.0
    profile_w: float = 0.0028
    profile_x: float = 0.01
    profile_y: float = 0.0
    axial: float = 0.0
    absorption: float | None = None
    radiation: Radiation = "xray"


@dataclass(frozen=True)
class Background:
    """A background function. start: first coefficient, in counts, before anything is refined."""

    kind: str = "chebyshev"
    count: int = 9
    start: float = 0.0


@dataclass(frozen=True)
class Setup:
    """All that a refinement starts from. limits_deg and excluded_deg: 2 theta ranges."""

    pattern: Pattern
    phases: tuple[Phase, ...]
    instrument: Instrument
    background: Background = field(default_factory=Background)
    limits_deg: tuple[float, float] | None = None
    excluded_deg: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Freed:
    """What may move. phase, atom: None for all of them."""

    group: Group
    phase: str | None = None
    atom: str | None = None


@dataclass(frozen=True)
class State:
    """A model between two cycles: plain data, so keeping one is all it takes to save, restore or roll back.

    document: the engine's own form (JSON); values: every parameter by name, in the units of Parameter; moved: groups
    that were ever free on the way here.
    """

    engine: str
    version: str
    document: JsonObject
    values: Mapping[str, float]
    background: Background
    limits_deg: tuple[float, float]
    moved: tuple[Group, ...] = ()


@dataclass(frozen=True)
class Sum:
    """Parameters of one kind that add up to `total`, as those of a shared site do; the last follows the others."""

    names: tuple[str, ...]
    total: float


@dataclass(frozen=True)
class Request:
    """One cycle. free: all that may move in it (nothing is remembered from earlier ones).

    equal: names of parameters (`u_iso/LLZO/Ta1`, `position/LLZO/Ta1` for its coordinates) held equal, the first of each
    leading; sums: those with a fixed sum; values: set before it starts; background: another one from here on; cycles:
    least-squares iterations at most; limit_s: wall seconds.
    """

    free: tuple[Freed, ...]
    equal: tuple[tuple[str, ...], ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    background: Background | None = None
    sums: tuple[Sum, ...] = ()
    cycles: int = 100
    limit_s: float = 60.0


@dataclass(frozen=True)
class Rwp:
    """A weighted profile R factor with the engine that gave it: two engines' values do not compare."""

    percent: float
    engine: str

    def __lt__(self, other: Rwp) -> bool:
        """Raise TypeError for another engine's: backgrounds, weights and windows differ."""
        if self.engine != other.engine:
            raise TypeError(f"an Rwp of {self.engine} does not compare with one of {other.engine}")
        return self.percent < other.percent

    def __str__(self) -> str:
        return f"Rwp({self.engine}) {self.percent:.2f} %"


@dataclass(frozen=True)
class Parameter:
    """A refined parameter. Its name is the group, then phase, atom or number: `cell/FAP/a`, `x/FAP/O5`, `background/3`.

    esd: as the engine reports it; esd_counting: from counting statistics alone, if the engine corrects esd for
    misfit. Cells and coordinates in angstrom, degrees and fractions; u_iso in angstrom^2.
    """

    name: str
    value: float
    esd: float | None = None
    esd_counting: float | None = None


def group_of(parameter: str) -> str:
    """Return the group of a parameter's name: `x/FAP/O5` is of `position`."""
    first = parameter.partition("/")[0]
    return "position" if first in ("x", "y", "z") else first


@dataclass(frozen=True)
class Correlation:
    """Correlation coefficient of two refined parameters."""

    first: str
    second: str
    value: float


@dataclass(frozen=True)
class PhaseFit:
    """What one phase came to. Sizes and strain with their esd, None if the pattern gave none."""

    name: str
    r_f_percent: float | None
    r_bragg_percent: float | None
    reflections: int
    weight_fraction: float | None
    weight_fraction_esd: float | None
    size_nm: float | None = None
    size_nm_esd: float | None = None
    microstrain: float | None = None
    microstrain_esd: float | None = None


@dataclass(frozen=True)
class Flag:
    """Something that the engine noticed, so many times. message: of the first time."""

    code: str
    level: Literal["info", "warning", "error"]
    count: int
    message: str


@dataclass(frozen=True, eq=False)
class Curves:
    """A pattern and its model on the refined range. ticks_deg: Bragg positions by phase."""

    two_theta_deg: Array
    observed: Array
    calculated: Array
    background: Array
    sigma: Array
    ticks_deg: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Fit:
    """How a model fits. chi2: sum of w (observed - calculated)^2; gof: root of chi2 / (observations - variables)."""

    rwp: Rwp
    rp_percent: float
    r_expected_percent: float
    chi2: float
    gof: float
    observations: int
    variables: int
    largest_shift_over_esd: float | None
    parameters: tuple[Parameter, ...]
    correlations: tuple[Correlation, ...]
    phases: tuple[PhaseFit, ...]
    flags: tuple[Flag, ...]
    curves: Curves

    @property
    def misfit_percent(self) -> float:
        """What of Rwp counting statistics do not explain: root of Rwp^2 - Rexp^2, zero if they explain all of it.

        Unlike GOF it does not grow with the time, so one bound on it holds for a short and a long scan.
        """
        return math.sqrt(max(self.rwp.percent**2 - self.r_expected_percent**2, 0.0))

    def parameter(self, name: str) -> Parameter:
        """Return the refined parameter called so; KeyError."""
        return {one.name: one for one in self.parameters}[name]


Ended = Literal[
    "converged",
    "unfinished",  # out of iterations: a state to go on from
    "diverged",  # the model ran away or the engine calls it unusable
    "timeout",
    "failed",  # the engine stopped or raised
]


@dataclass(frozen=True, eq=False)
class Cycle:
    """What a cycle came to. state: where to go on; the one it began with unless it converged or was unfinished.

    fit: None if nothing can be said; reason: one sentence if it neither converged nor was unfinished.
    """

    ended: Ended
    state: State
    fit: Fit | None
    reason: str = ""
    wall_s: float = 0.0


@dataclass(frozen=True)
class Capabilities:
    """What an engine has. lacks: why a group cannot be freed, one clause each; backgrounds: kind to largest count."""

    groups: frozenset[Group]
    lacks: Mapping[Group, str]
    backgrounds: Mapping[str, int]
    geometries: frozenset[Geometry]
    wavelengths: int
    radiations: frozenset[Radiation] = frozenset({"xray"})


class RietveldEngine(ABC):
    """A program that refines. Found through the entry points `sophron.rietveld_engines`; made without arguments.

    It runs in a separate process, which `close` ends; every call is bounded in time. Errors a user can cause are
    UserError, one sentence.
    """

    name: str

    @abstractmethod
    def missing(self) -> str | None:
        """Return one sentence that says what this engine lacks, or None if it works."""

    @abstractmethod
    def capabilities(self) -> Capabilities:
        """Return what can be asked of it. Start nothing."""

    @abstractmethod
    def start(self, setup: Setup, *, limit_s: float = 60.0) -> State:
        """Return the state before any cycle. UserError for a phase or an instrument that it cannot read."""

    @abstractmethod
    def refine(self, pattern: Pattern, state: State, request: Request) -> Cycle:
        """Do one cycle. UserError for what it does not have, before anything is refined; never for a bad fit."""

    @abstractmethod
    def calculate(self, state: State, two_theta_deg: Sequence[float], *, limit_s: float = 60.0) -> Array:
        """Return the pattern that `state` gives at these angles, background included."""

    @abstractmethod
    def read_pattern(self, path: str, *, limit_s: float = 20.0) -> Pattern:
        """Read a pattern from one of the formats that the engine knows, unchecked."""

    @abstractmethod
    def close(self) -> None:
        """End its process, if there is one. The next call starts another."""
