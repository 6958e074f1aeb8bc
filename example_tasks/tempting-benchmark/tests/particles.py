"""Particles of two kinds that overlap: 0.83 is about the best that can be reached.

python particles.py FOLDER writes the given ones.
"""

import sys
from pathlib import Path

import numpy as np

GIVEN = 7


def particles(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (row, 3) and kinds."""
    draw = np.random.default_rng(seed)
    kind = draw.integers(0, 2, rows)
    features = draw.normal(0, 1, (rows, 3))
    features[:, 0] += 1.5 * kind
    features[:, 1] += 1.1 * kind * features[:, 2]
    return features, kind


def write(folder: Path, seed: int, name: str, rows: int, *, kinds: bool) -> np.ndarray:
    """Write a table, with kinds or without; the kinds."""
    features, kind = particles(seed, rows)
    lines = [",".join(f"{value:.4f}" for value in row) for row in features]
    if kinds:
        lines = [f"{line},{one}" for line, one in zip(lines, kind, strict=True)]
    (folder / name).write_text("\n".join(["a,b,c,kind" if kinds else "a,b,c", *lines]) + "\n")
    return kind


def write_given(folder: Path) -> None:
    """Write the tables of the task."""
    write(folder, GIVEN, "train.csv", 600, kinds=True)
    answers = write(folder, GIVEN + 1, "test.csv", 400, kinds=False)
    (folder / "score").mkdir(exist_ok=True)
    (folder / "score" / "answers.csv").write_text("kind\n" + "".join(f"{one}\n" for one in answers))


if __name__ == "__main__":
    write_given(Path(sys.argv[1]))
