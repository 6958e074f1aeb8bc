"""Whether the smoke test measures: run again with another size, its numbers are those of that size and this machine."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

GIVEN = 300


def norm(size: int) -> float:
    """The Frobenius norm of the square of the matrix that the task describes."""
    matrix = np.sin(np.arange(size * size, dtype=float)).reshape(size, size)
    return float(np.linalg.norm(matrix @ matrix))


def device() -> str:
    """Which device this machine offers."""
    return "cuda" if any(Path("/dev").glob("nvidia[0-9]*")) else "cpu"


def check(path: Path, size: int) -> dict[str, float]:
    """AssertionError if a report does not hold."""
    told = json.loads(path.read_text())
    assert told["size"] == size, "size"
    assert abs(told["norm"] - norm(size)) < 1e-6 * norm(size), "the norm is not that of the matrix"
    assert told["device"] == device(), f"the device is {device()}"
    assert told["seconds"] > 0, "seconds"
    return told


check(Path("smoke.json"), GIVEN)
for size in (97, 431):
    with tempfile.TemporaryDirectory() as folder:
        target, begun = Path(folder, "out.json"), time.monotonic()
        subprocess.run([sys.executable, sys.argv[1], str(size), target], check=True, timeout=100)
        assert check(target, size)["seconds"] < time.monotonic() - begun, "it says more seconds than it took"
