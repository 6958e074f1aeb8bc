"""Read the DCD trajectories that LAMMPS writes: CHARMM's binary layout, a cell and three coordinate records a frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MARK = 4
"""Each Fortran record stands between two 4-byte marks that hold its length."""

CELL_BYTES = 48


def read_frames(path: Path) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Steps, shape (frames,), and positions, shape (frames, atoms, 3), of one file; a torn last frame is left out.

    A file that a kill left without its header holds no frames.
    """
    import numpy as np

    data = path.read_bytes()
    offset = 0
    records = []
    for _ in range(3):  # header, titles, number of atoms
        length = int.from_bytes(data[offset : offset + MARK], "little")
        if length == 0 or offset + length + 2 * MARK > len(data):
            return np.empty(0, np.int64), np.empty((0, 0, 3), np.float32)
        records.append(data[offset + MARK : offset + MARK + length])
        offset += length + 2 * MARK
    first, every = np.frombuffer(records[0], "<i4", count=2, offset=8)
    atoms = int.from_bytes(records[2][:MARK], "little")
    axis = np.dtype([("begin", "<i4"), ("values", "<f4", (atoms,)), ("end", "<i4")])
    frame = np.dtype([("cell", "V", CELL_BYTES + 2 * MARK), ("x", axis), ("y", axis), ("z", axis)])
    frames = np.frombuffer(data, frame, count=(len(data) - offset) // frame.itemsize, offset=offset)
    positions = np.stack([frames[name]["values"] for name in "xyz"], axis=-1)
    return int(first) + int(every) * np.arange(len(frames), dtype=np.int64), positions
