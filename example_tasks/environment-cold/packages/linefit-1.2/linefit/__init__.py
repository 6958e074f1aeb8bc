"""Straight lines through cross sections."""

import barns

__version__ = "1.2"

if not (0, 5) <= tuple(map(int, barns.__version__.split("."))) < (1, 0):
    raise ImportError(f"linefit 1.2 needs barns from 0.5 to 0.9, and this is {barns.__version__}")


def fit(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return slope and intercept of the least squares."""
    count = len(points)
    x_mean, y_mean = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    slope = sum((x - x_mean) * (y - y_mean) for x, y in points) / sum((x - x_mean) ** 2 for x, _ in points)
    return slope, y_mean - slope * x_mean
