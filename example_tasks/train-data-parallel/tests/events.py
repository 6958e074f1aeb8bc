"""Events of two kinds, and the right numbers. python events.py FILE writes the given ones."""

import sys
from pathlib import Path

import numpy as np

GIVEN, STEPS, STEP = 5, 150, 0.5


def events(seed: int, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and kinds."""
    draw = np.random.default_rng(seed)
    x = draw.normal(0, 1, (rows, columns)).round(3)
    return x, (x @ draw.normal(0, 1, columns) + draw.normal(0.3, 1, rows) > 0).astype(np.int8)


def write(path: Path, x: np.ndarray, y: np.ndarray) -> None:
    """Write a file of events."""
    np.savez_compressed(path, x=x.astype(np.float32), y=y)


def trained(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, list[float]]:
    """Weights, bias and losses."""
    x, w, b, losses = x.astype(np.float32).astype(float), np.zeros(x.shape[1]), 0.0, []
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-(x @ w + b)))
        losses.append(float(-np.mean(np.where(y == 1, np.log(p), np.log1p(-p)))))
        w, b = w - STEP * x.T @ (p - y) / len(y), b - STEP * float(np.mean(p - y))
    return w, b, losses


if __name__ == "__main__":
    write(Path(sys.argv[1]), *events(GIVEN, 601, 4))
