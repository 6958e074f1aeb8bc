"""The readings of the task, and their charges. python strips.py FILE writes the readings."""

import random
import sys
from pathlib import Path

NOISY = (3, 50, 71, 90)


def readings() -> list[tuple[int, int]]:
    """(strip, ADC counts)."""
    draw = random.Random(314)
    return [(strip, draw.choice([draw.randrange(30, 60), draw.randrange(30, 900)])) for strip in range(96)]


def charge(strip: int, counts: int) -> float:
    """The charge in fC, by the skill."""
    plain = (counts - (36.5 if strip % 2 else 41)) * (0.118 if strip >= 64 else 0.125)
    return max(plain if plain <= 60 else 60 + 1.6 * (plain - 60), 0.0)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text("strip,adc\n" + "".join(f"{strip},{counts}\n" for strip, counts in readings()))
