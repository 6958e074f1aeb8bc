"""Temperature profiles of a box with an imposed flux: gradients in both halves, and the conductivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sophron.interfaces.kind import EngineFailure
from sophron.science.estimators.correlated_series import block_mean
from sophron.science.estimators.statistics import satterthwaite, t_quantile

LEAST_BLOCKS = 4


@dataclass(frozen=True)
class Profile:
    """What a run measured. The first slab is the cold one, the middle slab the hot one; the box is periodic.

    temperature: (blocks, slabs), mean of each block; swapped: (blocks + 1,), energy taken from the cold slab to the
    hot one since the start, at the ends of the blocks; length: of the box along z; area: across; block_time: of one.
    """

    temperature: NDArray[np.float64]
    swapped: NDArray[np.float64]
    length: float
    area: float
    block_time: float

    @property
    def slabs(self) -> int:
        """Number of slabs."""
        return int(self.temperature.shape[1])


def read_profile(path: Path, slabs: int) -> NDArray[np.float64]:
    """Return the temperatures (blocks, slabs) of a `fix ave/chunk` file; EngineFailure if it has not `slabs` slabs."""
    rows = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    if len(rows) % (slabs + 1) or any(int(row[1]) != slabs for row in rows[:: slabs + 1]):
        raise EngineFailure(f"{path.name}: its blocks do not have {slabs} slabs each")
    numbers = [[float(row[-1]) for row in rows[at + 1 : at + 1 + slabs]] for at in range(0, len(rows), slabs + 1)]
    return np.array(numbers).reshape(-1, slabs)


def gradients(profile: Profile, share: float) -> NDArray[np.float64]:
    """Fit dT/dz of each block, (blocks, 2): from cold to hot slab, and from hot to cold across the boundary.

    A straight line by least squares through the slabs whose centres lie in the central `share` of each half: beside
    the two slabs that are driven the profile is not a straight line.
    """
    half, width = profile.slabs / 2, profile.length / profile.slabs
    slopes = []
    for start in (0.0, half):
        centre = start + half / 2  # slabs are counted from the centre of the cold one
        chosen = np.arange(profile.slabs)
        chosen = chosen[np.abs(chosen - centre) <= share * half / 2 + 1e-9]
        if chosen.size < 3:
            raise EngineFailure(
                f"the fit of the gradient has {chosen.size} slabs in each half; take more copies, or a larger fit_share"
            )
        slopes.append(np.polyfit(chosen * width, profile.temperature[:, chosen].T, 1)[0])
    return np.stack(slopes, axis=1)


def conductivity(profile: Profile, share: float, unit: float) -> dict[str, float | None]:
    """Conductivity in `unit` of the profile's own, flux and gradients, with errors from the spread of blocks.

    conductivity_degrees_of_freedom: of its error, so many as blocks less one know of flux and gradient together.
    The swapped energy flows back through two cross-sections, so flux = energy / (2 area time), and conductivity =
    flux / mean gradient of the halves. halves_z: difference of the two gradients in its standard errors.
    They are None if blocks correlate too much (`block_mean`). EngineFailure if there are too few blocks, or the 95 %
    interval of the gradient holds 0.
    """
    if len(profile.temperature) < LEAST_BLOCKS:
        raise EngineFailure(f"{len(profile.temperature)} blocks have no error; measure at least {LEAST_BLOCKS}")
    rising, falling = gradients(profile, share).T
    gradient, difference = block_mean((rising - falling) / 2), block_mean(rising + falling)
    scatter = gradient.error or float((rising - falling).std(ddof=1)) / 2 / math.sqrt(rising.size)
    if gradient.mean <= t_quantile(gradient.degrees_of_freedom) * scatter:
        raise EngineFailure(
            f"the gradient, {gradient.mean:.3g} +- {scatter:.3g}, is lost in its noise; swap more often, or run longer"
        )
    flux = block_mean(np.diff(profile.swapped) / (2 * profile.area * profile.block_time))
    value = unit * flux.mean / gradient.mean
    mean = profile.temperature.mean(axis=0)
    parts = (gradient, flux)
    errors = [one.error and one.error / one.mean for one in parts if one.error is not None]
    freedom = satterthwaite(np.square(errors), [one.degrees_of_freedom for one in parts][: len(errors)])
    known = len(errors) == len(parts)
    return {
        "conductivity": value,
        "conductivity_error": value * math.hypot(*errors) if known else None,
        "conductivity_degrees_of_freedom": freedom if known and math.isfinite(freedom) else None,
        "heat_flux": flux.mean,
        "heat_flux_error": flux.error,
        "gradient_rising": float(rising.mean()),
        "gradient_falling": float(falling.mean()),
        "gradient_error": gradient.error,
        "halves_z": None if difference.error is None else difference.mean / (difference.error or math.inf),
        "energy_swapped": float(profile.swapped[-1] - profile.swapped[0]),
        "temperature_span": float(mean[profile.slabs // 2] - mean[0]),
    }
