"""A fit as a Rietveld engine reports it: agreement, parameters, flags and curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


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

    def parameter(self, name: str) -> Parameter:
        """Return the refined parameter called so; KeyError."""
        return {one.name: one for one in self.parameters}[name]
