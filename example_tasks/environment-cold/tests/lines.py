"""What is right for a file of points, without linefit."""

import json

import numpy as np

BARN = {"b": 1.0, "mb": 1e-3, "ub": 1e-6, "nb": 1e-9}


def check(text: str, told: str) -> None:
    """AssertionError if JSON is not the straight line through these points."""
    rows = [line.split() for line in text.splitlines()]
    x, y = [float(row[0]) for row in rows], [float(row[1]) * BARN[row[2]] for row in rows]
    slope, intercept = np.polyfit(x, y, 1)
    fit = json.loads(told)
    assert np.allclose([fit["slope_b"], fit["intercept_b"]], [slope, intercept], rtol=1e-6, atol=0), "another line"
