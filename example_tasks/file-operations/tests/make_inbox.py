"""Make the files of inbox/: equal seeds give equal bytes. python make_inbox.py FOLDER writes them."""

import random
import sys
from pathlib import Path

RUNS = (("ladder", 17), ("ladder", 4), ("ladder", 102), ("wedge", 17), ("wedge", 9), ("tile", 1), ("tile", 233))


def content(detector: str, run: int) -> str:
    """The file of one run: a line that names it, a header, a few hits."""
    draw = random.Random(f"{detector} {run}")
    hits = (f"{draw.randrange(64)},{draw.gauss(40, 6):.2f}" for _ in range(draw.randrange(4, 9)))
    return "\n".join([f"# detector: {detector}, run: {run}", "channel,charge_fC", *hits]) + "\n"


def inbox() -> dict[str, str]:
    """Name -> content; every third run was sent twice."""
    draw = random.Random("names")
    texts = [text for number, run in enumerate(RUNS) for text in [content(*run)] * (2 if number % 3 == 1 else 1)]
    draw.shuffle(texts)
    return {f"upload_{draw.randrange(16**6):06x}.dat": text for text in texts}


if __name__ == "__main__":
    for name, text in inbox().items():
        Path(sys.argv[1], name).write_text(text)
