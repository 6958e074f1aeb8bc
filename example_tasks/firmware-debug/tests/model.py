"""The design in Python, which knows nothing of clocks. python model.py FOLDER writes words.txt and golden.txt."""

import random
import sys
from pathlib import Path

GIVEN, DEPTH = 12, 6


def words(seed: int, count: int) -> list[int]:
    """Words of four samples; some are as large as they can be."""
    draw = random.Random(seed)
    return [draw.choice([draw.getrandbits(32), 0xFFFFFFFF, draw.getrandbits(8)]) for _ in range(count)]


def golden(given: list[int]) -> list[int]:
    """The weighted sum of each six words; words that are left over give none."""
    sums = [sum(word >> shift & 255 for shift in (0, 8, 16, 24)) for word in given]
    windows = [sums[begin : begin + DEPTH] for begin in range(0, len(sums) - DEPTH + 1, DEPTH)]
    return [sum((place + 1) * value for place, value in enumerate(window)) for window in windows]


def write(folder: Path, given: list[int]) -> None:
    """Write words and what is right for them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "words.txt").write_text("".join(f"{word:08x}\n" for word in given))
    (folder / "golden.txt").write_text("".join(f"{value}\n" for value in golden(given)))


if __name__ == "__main__":
    write(Path(sys.argv[1]), words(GIVEN, 64))
