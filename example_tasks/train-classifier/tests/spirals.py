"""Whether predictions for new points are right, and come from the model file."""

import csv
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

LEAST, MOST_WITHOUT_MODEL = 0.9, 0.7


def points(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of three spiral arms as the task describes them, and their arms."""
    draw = np.random.default_rng(secrets.randbits(60))
    arm = draw.integers(0, 3, count)
    radius = draw.uniform(0.15, 1, count)
    angle = 4 * radius + 2 * np.pi * arm / 3 + draw.normal(0, 0.15, count)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), arm


def accuracy(program: str, folder: Path) -> float:
    """The share of 600 new points whose arm the program finds, run in `folder`; 0 if it ends with an error."""
    places, arms = points(600)
    np.savetxt(folder / "points.csv", places, delimiter=",", header="x,y", comments="")
    command = [sys.executable, program, "points.csv", "arms.csv"]
    if subprocess.run(command, cwd=folder, check=False, timeout=100, capture_output=True).returncode:
        return 0.0
    with (folder / "arms.csv").open() as stream:
        told = [int(float(row["arm"])) for row in csv.DictReader(stream)]
    return float(np.mean(np.array(told) == arms)) if len(told) == len(arms) else 0.0


def copy(folder: str) -> Path:
    """A copy of the work in which the program runs."""
    return Path(shutil.copytree(".", Path(folder, "work")))


with tempfile.TemporaryDirectory() as place:
    reached = accuracy(sys.argv[1], copy(place))
    assert reached >= LEAST, f"{reached:.3f} of new points are right, less than {LEAST}"
with tempfile.TemporaryDirectory() as place:
    work = copy(place)
    with np.load(work / "model.npz") as model:
        assert sum(model[name].size for name in model.files) >= 12, "model.npz has fewer than 12 numbers"
        np.savez(work / "model.npz", **{name: np.zeros_like(model[name]) for name in model.files})
    blind = accuracy(sys.argv[1], work)
    assert blind < MOST_WITHOUT_MODEL, f"{blind:.3f} are right although the model is empty: nothing was learned"
