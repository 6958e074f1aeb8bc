"""Arrays by name in one npz file, whole or absent."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.records.files import write_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray


def write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Put them at `path`, compressed, in one step."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    write_bytes(path, buffer.getvalue())


def read(path: Path) -> dict[str, NDArray[Any]]:
    """Return what `write` put there."""
    with np.load(path) as kept:
        return {name: kept[name] for name in kept.files}
