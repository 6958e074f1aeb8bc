"""Pictures of digits drawn by hand, more or less, and the grid that they make.

python digits.py FILE writes the given ones.
"""

import random
import sys
from pathlib import Path

import numpy as np
from PIL import Image

GIVEN, ROWS, SCALE = 11, 4, 6
GLYPHS = (
    "0110 1001 1001 1001 0110", "0010 0110 0010 0010 0111", "1110 0001 0110 1000 1111", "1110 0001 0110 0001 1110",
    "1001 1001 1111 0001 0001", "1111 1000 1110 0001 1110", "0110 1000 1110 1001 0110", "1111 0001 0010 0100 0100",
    "0110 1001 0110 1001 0110", "0110 1001 0111 0001 0110",
)  # fmt: skip


def digits(seed: int, each: int) -> list[tuple[int, list[int]]]:
    """(digit, 64 grey values), shuffled; some digits occur once less."""
    draw = random.Random(seed)
    made = [(digit, _drawn(draw, digit)) for digit in range(10) for _ in range(each - (draw.random() < 0.2))]
    draw.shuffle(made)
    return made


def _drawn(draw: random.Random, digit: int) -> list[int]:
    down, right = draw.randrange(4), draw.randrange(5)
    picture = [draw.randrange(40) for _ in range(64)]
    for row, line in enumerate(GLYPHS[digit].split()):
        for column, dot in enumerate(line):
            if dot == "1":
                picture[8 * (row + down) + column + right] = draw.randrange(150, 256)
    return picture


def write(path: Path, made: list[tuple[int, list[int]]]) -> None:
    """Write a file of digits."""
    header = ",".join(["digit", *(f"p{number}" for number in range(64))])
    path.write_text("\n".join([header, *(",".join(map(str, [digit, *grey])) for digit, grey in made)]) + "\n")


def check(path: Path, made: list[tuple[int, list[int]]], rows: int) -> None:
    """AssertionError if a picture is not the grid of these digits."""
    grid = np.zeros((8 * rows, 80), dtype=np.uint8)
    for digit in range(10):
        for row, grey in enumerate([grey for told, grey in made if told == digit][:rows]):
            grid[8 * row : 8 * row + 8, 8 * digit : 8 * digit + 8] = np.reshape(grey, (8, 8))
    wanted = np.kron(grid, np.ones((SCALE, SCALE), dtype=np.uint8))
    shown = np.asarray(Image.open(path).convert("L"))
    assert shown.shape == wanted.shape, f"it has {shown.shape} pixels and not {wanted.shape}"
    wrong = np.argwhere(np.abs(shown.astype(int) - wanted) > 1)
    assert not len(wrong), f"the pixel at row {wrong[0][0]}, column {wrong[0][1]} is wrong"


if __name__ == "__main__":
    write(Path(sys.argv[1]), digits(GIVEN, ROWS))
