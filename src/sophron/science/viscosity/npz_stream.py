"""Arrays inside `.npz` files, read in pieces, so that a file larger than memory can be analysed."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from sophron.interfaces.kind import EngineFailure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray


def scalars(path: Path, *names: str) -> tuple[float, ...]:
    """Return the scalar arrays called `names`; EngineFailure if the file or one of them is missing or broken."""
    try:
        with np.load(path) as archive:
            return tuple(float(archive[name]) for name in names)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise EngineFailure(f"{path.name} cannot be read: {error}; run the stage that writes it again") from error


def rows(path: Path, name: str, size: int) -> Iterator[NDArray[Any]]:
    """Consecutive pieces of at most `size` rows of the array `name`; EngineFailure if a value is not finite."""
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as stream:
        shape, dtype = _header(stream)
        row_bytes = dtype.itemsize * int(np.prod(shape[1:], dtype=np.int64))
        for start in range(0, shape[0], size):
            count = min(size, shape[0] - start)
            piece = np.frombuffer(stream.read(count * row_bytes), dtype=dtype).reshape(count, *shape[1:])
            if not np.all(np.isfinite(piece)):
                raise EngineFailure(f"{path.name}: {name} holds values that are not finite in rows {start} and on")
            yield piece


def shape_of(path: Path, name: str) -> tuple[int, ...]:
    """Return the shape of the array `name`, from its header alone."""
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as stream:
        return _header(stream)[0]


def _header(stream: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type from the header of an `.npy` stream in C order."""
    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran_order, dtype = read(stream)
    if fortran_order:
        raise EngineFailure("arrays in Fortran order cannot be read in pieces; write them in C order")
    return shape, dtype
