"""What production saves of its samples so that others can measure them: `observables.npz`, one file a window.

Arrays, n samples in all, those of one run in the order of time:

- `state`, shape (n,): number of the state (window of the chain, from 0) that each sample was drawn in;
- `run`, shape (n,): which run of this window a sample is of, from 0; left out: all are of one;
- `time_ps`, shape (n,): simulated time since the start of its run;
- `reduced_potentials`, shape (states, n): energy of each sample in every state of the chain, in kT; what is equal in
  all states may be left out; a row is NaN if its state is of another leg, with which these samples are not analysed;
- `potential_kcal_per_mol`, shape (n,): potential energy;
- `temperature_k`, shape (n,): kinetic temperature of that moment, 2 E_kin / (degrees of freedom k_B), as it scatters;
- `density_g_per_ml`, shape (n,): density of that moment, for a box whose volume changes.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.science.host_guest.sampling import npz
from sophron.science.host_guest.sampling.window_sampling import COLUMNS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from sophron.science.host_guest.sampling.samples import Sampled

FILE_NAME = "observables.npz"
ARRAYS = (
    "state",
    "run",
    "time_ps",
    "reduced_potentials",
    "potential_kcal_per_mol",
    "temperature_k",
    "density_g_per_ml",
)
LARGEST_BYTES = 512 * 1024**2
PARTLY = "reduced_potentials"
"""The one array that may hold NaN, and has an axis of states."""


def save(folder: Path, **arrays: ArrayLike) -> None:
    """Write `observables.npz` into `folder`. arrays: as this module lists them; ValueError with all that is wrong."""
    made = {name: np.asarray(values) for name, values in arrays.items()}
    faults = list(check(made))
    if faults:
        raise ValueError("; ".join(faults))
    npz.write(folder / FILE_NAME, made)


def load(folder: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays that `folder` has; ValueError that says all that is wrong with them."""
    path = folder / FILE_NAME
    if not path.is_file() or path.is_symlink():
        raise ValueError(f"there is no {FILE_NAME}")
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(each.file_size for each in archive.infolist())
        arrays = npz.read(path) if size <= LARGEST_BYTES else {}
    except Exception as error:  # noqa: BLE001 - whatever numpy makes of a foreign file, it cannot be read
        raise ValueError(f"{FILE_NAME} cannot be read: {error}") from None
    if size > LARGEST_BYTES:
        raise ValueError(f"{FILE_NAME} holds more than {LARGEST_BYTES >> 20} MiB; save samples less often")
    faults = list(check(arrays))
    if faults:
        raise ValueError("; ".join(faults))
    return arrays


def check(arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """Yield a sentence for each array whose name, type or shape is another than it should be."""
    for name in sorted(set(arrays) - set(ARRAYS)):
        yield f"{name} is no array of {FILE_NAME}; it takes {', '.join(ARRAYS)}"
    samples = len(arrays["state"]) if "state" in arrays and arrays["state"].ndim == 1 else None
    if samples is None:
        yield "state is missing, or has another shape than (samples,)"
    for name in ARRAYS:
        if name in arrays and samples is not None:
            yield from _fits(name, arrays[name], samples)


def _fits(name: str, values: NDArray[Any], samples: int) -> Iterator[str]:
    rows = 2 if name == PARTLY else 1
    if values.ndim != rows or values.shape[-1] != samples:
        yield f"{name} has the shape {values.shape}; it needs ({'states, ' if rows > 1 else ''}{samples})"
    elif not np.issubdtype(values.dtype, np.number):
        yield f"{name} holds no numbers"
    elif name != PARTLY and not np.all(np.isfinite(values)):
        yield f"{name} holds what is not finite"


def of_samples(
    sampled: Sequence[Sampled], reduced: Sequence[NDArray[np.float64]], interval_ps: float
) -> dict[str, NDArray[Any]]:
    """Return the arrays of these samples. reduced: of each, (states, samples); interval_ps: between two samples."""
    lengths = [each.values.shape[1] for each in sampled]
    names = ("potential_kcal_per_mol", "temperature_k")
    found = {name: np.concatenate([each.values[COLUMNS.index(name)] for each in sampled]) for name in names}
    return found | {
        "state": np.repeat([each.window for each in sampled], lengths),
        "run": np.repeat(np.arange(len(sampled)), lengths),
        "time_ps": np.concatenate([interval_ps * np.arange(1, length + 1) for length in lengths]),
        PARTLY: np.concatenate(list(reduced), axis=1),
    }
