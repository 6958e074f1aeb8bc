"""Runs of a small detector. python runs.py FOLDER writes the given ones: equal seeds give equal bytes."""

import csv
import json
import random
import sys
from pathlib import Path

GIVEN = 3
LABELS = ("photon", "µ", "noise, hot", 'a "ghost"', "")


def write(folder: Path, seed: int, runs: int = 3) -> None:
    """Write runs; the last one has no hits."""
    draw = random.Random(seed)
    for number in range(runs):
        place = folder / f"run-{draw.randrange(1000):03}-{number}"
        place.mkdir(parents=True)
        rows, columns = draw.randrange(3, 9), draw.randrange(3, 9)
        image = [[draw.choice([0, 65535, draw.randrange(65536)]) for _ in range(columns)] for _ in range(rows)]
        (place / "image.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in image))
        hits = [(repr(draw.random() * 1e-3), draw.randrange(-5, 5000), draw.choice(LABELS)) for _ in range(12)]
        with (place / "hits.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerows([("time_s", "channel", "label"), *(hits if number < runs - 1 else [])])
        meta = {
            "run": number,
            "voltage_kV": draw.random(),
            "crew": draw.choice(["Ana", "Øyvind"]),
            "events": 10**12 + number,
        }
        (place / "meta.json").write_text(json.dumps(meta, ensure_ascii=False), encoding="utf-8")


def read(folder: Path) -> dict[str, tuple]:
    """Run -> image, hits and meta, as values."""
    found = {}
    for place in folder.iterdir():
        image = [[int(cell) for cell in line.split(",")] for line in (place / "image.csv").read_text().splitlines()]
        with (place / "hits.csv").open(newline="", encoding="utf-8") as stream:
            rows = list(csv.reader(stream))
        hits = [(float(time), int(channel), label) for time, channel, label in rows[1:]]
        meta = json.loads((place / "meta.json").read_text("utf-8"))
        found[place.name] = (image, rows[0], hits, meta, {name: type(value) for name, value in meta.items()})
    return found


if __name__ == "__main__":
    write(Path(sys.argv[1]), GIVEN)
