"""Straight lines through points, as this laboratory weighs them."""

BUILD = "linefit 3.1 of 2024-02-19, flavour weighted"


def fit(points: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Return slope and intercept; each point (x, y, error) has the weight 1 / error^2."""
    weights = [1 / error**2 for _, _, error in points]
    total = sum(weights)
    x_mean = sum(w * x for w, (x, _, _) in zip(weights, points, strict=True)) / total
    y_mean = sum(w * y for w, (_, y, _) in zip(weights, points, strict=True)) / total
    upper = sum(w * (x - x_mean) * (y - y_mean) for w, (x, y, _) in zip(weights, points, strict=True))
    slope = upper / sum(w * (x - x_mean) ** 2 for w, (x, _, _) in zip(weights, points, strict=True))
    return slope, y_mean - slope * x_mean
