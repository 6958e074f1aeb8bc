"""Whether a picture shows a sine as a red line over as many periods as it should. red_wave.py FILE [PERIODS]."""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

GIVEN = 3


def check(path: Path, periods: int) -> None:
    """AssertionError if the red pixels, column by column, are not such a sine."""
    picture = np.asarray(Image.open(path).convert("RGB")).astype(int)
    red = (picture[..., 0] > 190) & (picture[..., 1] < 110) & (picture[..., 2] < 110)
    columns = np.flatnonzero(red.any(axis=0))
    assert len(columns) > 200, f"{path}: the red line has {len(columns)} columns"
    assert len(columns) > 0.97 * (columns[-1] - columns[0] + 1), f"{path}: the red line has gaps"
    rows = np.arange(len(red))[:, None]
    heights = -(red * rows).sum(axis=0)[columns] / red.sum(axis=0)[columns]
    wave = np.sin(2 * np.pi * periods * (columns - columns[0]) / (columns[-1] - columns[0]))
    assert np.ptp(heights) > 60, f"{path}: the red line is {np.ptp(heights):.0f} pixels high"
    likeness = np.corrcoef(heights, wave)[0, 1]
    assert likeness > 0.98, f"{path}: the red line is not {periods} periods of a sine ({likeness:.2f})"


if __name__ == "__main__":
    check(Path(sys.argv[1]), GIVEN)
