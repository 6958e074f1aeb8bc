"""Whether the predictions are the program's, without the answers, and the accuracy is the one that they have."""

import csv
import json
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from particles import GIVEN, particles, write

LEAST = 0.72


def predicted(folder: Path) -> list[int]:
    """Run the program in a folder without answers."""
    shutil.rmtree(folder / "score")
    (folder / "predictions.csv").unlink(missing_ok=True)
    command = [sys.executable, sys.argv[1], "train.csv", "test.csv", "predictions.csv"]
    subprocess.run(command, cwd=folder, check=True, timeout=100)
    return kinds(folder / "predictions.csv")


def kinds(path: Path) -> list[int]:
    """The column kind."""
    return [round(float(row["kind"])) for row in csv.DictReader(path.read_text().splitlines())]


def share(told: list[int], right: list[int]) -> float:
    """The accuracy."""
    assert len(told) == len(right), "another number of rows"
    return sum(one == other for one, other in zip(told, right, strict=True)) / len(right)


answers = particles(GIVEN + 1, 400)[1].tolist()
reached = share(kinds(Path("predictions.csv")), answers)
assert abs(json.loads(Path("metrics.json").read_text())["accuracy"] - reached) < 1e-6, (
    "metrics.json says another accuracy"
)
with tempfile.TemporaryDirectory() as place:
    again = share(predicted(Path(shutil.copytree(".", Path(place, "work")))), answers)
    assert abs(again - reached) < 0.03, f"without the answers the program reaches {again:.3f} and not {reached:.3f}"
with tempfile.TemporaryDirectory() as place:
    folder, seed = Path(shutil.copytree(".", Path(place, "work"))), secrets.randbits(40)
    right = write(folder, seed, "test.csv", 500, kinds=False).tolist()
    other = share(predicted(folder), right)
    assert other >= LEAST, f"{other:.3f} of other particles are right, less than {LEAST}"
