"""The one place that calls pymbar: independent samples in, a checked solution out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from sophron.records.errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_ITERATIONS = 500
"""Of a Newton solver that starts near the solution and needs a dozen."""
LARGEST_RESIDUAL = 1e-6


@dataclass(frozen=True)
class Solution:
    """In units of kT. As in `mbar.Estimate`, for the samples as they were given."""

    free_energies: tuple[float, ...]
    errors: tuple[float, ...]
    overlaps: tuple[float, ...]
    effective_samples: tuple[float, ...]


def solve(parts: Sequence[NDArray[np.float64]], start: NDArray[np.float64]) -> Solution | None:
    """MBAR over windows of independent samples; None if its equations are not fulfilled.

    parts: window -> reduced energies, shape (windows, samples); start: first guess of the free energies, in kT.
    UserError if pymbar is not installed.
    """
    counts = np.array([each.shape[1] for each in parts])
    reduced = np.concatenate(parts, axis=1)
    # Energies common to all windows cancel; without them exponentials stay near 1.
    protocol = ({"method": "adaptive", "options": {"min_sc_iter": 0, "maxiter": MOST_ITERATIONS}},)
    try:
        solver = _pymbar().MBAR(
            reduced - reduced.min(axis=0),
            counts,
            maximum_iterations=MOST_ITERATIONS,
            initial_f_k=start,
            solver_protocol=protocol,
        )
        weights = solver.weights()
        found = solver.compute_free_energy_differences()
    except (ArithmeticError, np.linalg.LinAlgError):
        return None
    residual = np.abs(weights.sum(axis=0) - 1.0).max()
    if not (residual < LARGEST_RESIDUAL and np.all(np.isfinite(found["dDelta_f"]))):
        return None
    free_energies = np.asarray(found["Delta_f"][0])
    return Solution(
        free_energies=tuple(map(float, free_energies)),
        errors=tuple(map(float, found["dDelta_f"][0])),
        overlaps=_overlaps(parts, free_energies),
        effective_samples=tuple(map(float, solver.compute_effective_sample_number())),
    )


def _overlaps(parts: Sequence[NDArray[np.float64]], free_energies: NDArray[np.float64]) -> tuple[float, ...]:
    """Of each window with the next: the overlap matrix of all windows as if they had equally many samples.

    pymbar's own matrix counts samples: a window of few would seem to overlap with nothing.
    """
    rows = np.array([special.softmax(free_energies[:, None] - each, axis=0).mean(axis=1) for each in parts])
    return tuple(float(min(rows[at, at + 1], rows[at + 1, at])) for at in range(len(parts) - 1))


def _pymbar() -> Any:
    """Import pymbar without its remarks about accelerators."""
    for name in ("pymbar", "pymbar.mbar_solvers", "pymbar.timeseries"):
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        import pymbar
    except ImportError:
        raise UserError("free energies need pymbar, which is not installed; pip install 'sophron[chem]'") from None
    return pymbar
