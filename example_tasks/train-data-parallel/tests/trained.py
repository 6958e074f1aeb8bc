"""Whether weights are right for any number of workers, and as many processes as were asked for did the work."""

import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, "/tests")
from events import GIVEN, events, trained, write

LEAST_CPU_S = 0.05


def check(path: Path, x: np.ndarray, y: np.ndarray) -> None:
    """AssertionError if a file does not have the right numbers."""
    w, b, losses = trained(x, y)
    with np.load(path) as told:
        assert np.allclose(told["w"].ravel(), w, rtol=1e-4, atol=1e-6), "w"
        assert np.allclose(told["b"], b, rtol=1e-4, atol=1e-6), "b"
        assert np.allclose(told["losses"].ravel(), losses, rtol=1e-4), "losses"


def below(pid: int) -> dict[int, float]:
    """Seconds of processor of each process below one."""
    parents, seconds = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(fields[1])
        seconds[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / 100
    inside = {pid}
    for _ in range(4):
        inside |= {child for child, parent in parents.items() if parent in inside}
    return {child: seconds[child] for child in inside - {pid}}


def run(workers: int, source: Path, target: Path) -> int:
    """How many processes worked below the program that was started."""
    started = subprocess.Popen(["python3", "/app/train.py", "--workers", str(workers), source, target], cwd="/app")
    spent: dict[int, float] = {}
    while started.poll() is None:
        for pid, seconds in below(started.pid).items():
            spent[pid] = max(spent.get(pid, 0.0), seconds)
        time.sleep(0.01)
    assert started.returncode == 0, f"it ended with {started.returncode}"
    return sum(seconds >= LEAST_CPU_S for seconds in spent.values())


check(Path("/app/weights.npz"), *events(GIVEN, 601, 4))
for workers, rows in ((1, 40_001), (2, 80_001), (3, 100_001)):
    with tempfile.TemporaryDirectory() as folder:
        x, y = events(secrets.randbits(40), rows, 12)
        source, target = Path(folder, "in.npz"), Path(folder, "out.npz")
        write(source, x, y)
        worked = run(workers, source, target)
        assert worked >= workers, f"{worked} processes worked in place of {workers}"
        check(target, x, y)
