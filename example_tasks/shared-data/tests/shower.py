"""The events of shower.bin, and its bytes: equal seeds give equal bytes. python shower.py FILE writes it."""

import struct
import sys
from pathlib import Path

import numpy as np

LAYERS, ROWS, COLUMNS, SCALE_MEV = 5, 7, 9, 0.375
COMMENTS = ("", "pilot", "laser on", "beam 2", "")


def events() -> tuple[np.ndarray, np.ndarray]:
    """Counts and flags, each (event, layer, row, column)."""
    draw = np.random.default_rng(20240611)
    counts = draw.gamma(0.6, 900, size=(len(COMMENTS), LAYERS, ROWS, COLUMNS)).astype(int).clip(0, 32000)
    bad = draw.random(counts.shape) < 0.03
    counts[bad] = draw.integers(30000, 32767, bad.sum())
    return counts, bad


def packed() -> bytes:
    """The file."""
    counts, bad = events()
    parts = [b"SHWR0002", struct.pack(">HBBBf", len(counts), LAYERS, ROWS, COLUMNS, SCALE_MEV)]
    for number, comment in enumerate(COMMENTS):
        parts.append(struct.pack(">IB", 71 + 13 * number, len(comment)) + comment.encode())
        parts.append((counts[number] | bad[number] << 15).astype(">u2").tobytes())
    return b"".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(packed())
