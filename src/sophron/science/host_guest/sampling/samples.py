"""Samples of windows as production leaves them and analysis reads them: an array for each start of each window."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from sophron.records.errors import UserError
from sophron.science.host_guest.sampling import npz

if TYPE_CHECKING:
    from numpy.typing import NDArray

Way = Literal["forward", "backward"]
WAYS: tuple[Way, ...] = ("forward", "backward")
"""From which end of the chain a start came."""
FILE_NAME = "samples.npz"


@dataclass(frozen=True)
class Sampled:
    """Samples of one window from one start. values: shape (columns, samples), first `sampling.COLUMNS`."""

    window: int
    seeded: Way | None
    values: NDArray[np.float64]


def save(folder: Path, sampled: Iterable[Sampled]) -> None:
    """Write `samples.npz` with an array `<way>_<window>` for each start."""
    npz.write(folder / FILE_NAME, {f"{each.seeded}_{each.window}": each.values for each in sampled})


def load(folder: Path, windows: int) -> list[Sampled]:
    """Return the samples of all windows from both starts; `folder` has a folder of each production step.

    Raise UserError if a window lacks one: without it, the chain would be another one.
    """
    found: dict[str, NDArray[np.float64]] = {}
    for path in sorted(folder.glob(f"*/{FILE_NAME}")):
        found |= npz.read(path)
    wanted = [(place, way) for place in range(windows) for way in WAYS]
    missing = sorted({place for place, way in wanted if f"{way}_{place}" not in found})
    if missing:
        raise UserError(f"{folder}: windows {', '.join(map(str, missing))} have no samples; run them again.")
    return [Sampled(place, way, found[f"{way}_{place}"]) for place, way in wanted]
