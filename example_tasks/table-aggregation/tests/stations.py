"""Tables of readings with what loggers leave in them, and their right monthly table.

python stations.py FILE writes the table of the task: equal seeds give equal bytes.
"""

import csv
import random
import sys
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

GIVEN = 5


def readings(seed: int, rows: int = 160) -> list[list[str]]:
    """Rows of station, time, temperature, in no order; some are doubled, empty or -99.9."""
    draw = random.Random(seed)
    begun = datetime(2023, draw.randrange(1, 10), 20, tzinfo=UTC)
    table = []
    for _ in range(rows):
        time = (begun + timedelta(minutes=10 * draw.randrange(6000))).isoformat().replace("+00:00", "Z")
        value = draw.choices([f"{draw.gauss(8, 6):.1f}", "", "-99.9"], [88, 6, 6])[0]
        table.append([draw.choice(["Arosa", "Bergen", "Cabauw"]), time, value])
    table += draw.sample(table, rows // 10)
    draw.shuffle(table)
    return table


def write(path: Path, table: list[list[str]]) -> None:
    """Write a table with its header."""
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([["station", "time", "temperature_C"], *table])


def monthly(table: list[list[str]]) -> list[tuple[str, str, int, float, float]]:
    """The right rows."""
    found = defaultdict(list)
    for station, time, value in {tuple(row) for row in table}:
        if value not in ("", "-99.9"):
            found[station, time[:7]].append(float(value))
    return [(*key, len(all_), sum(all_) / len(all_), max(all_)) for key, all_ in sorted(found.items())]


def compare(path: Path, table: list[list[str]]) -> None:
    """AssertionError, with the row, if a file is not the monthly table of these readings."""
    rows = list(csv.DictReader(path.read_text().splitlines()))
    right = monthly(table)
    assert len(rows) == len(right), f"{len(rows)} rows in place of {len(right)}"
    for row, (station, month, count, mean, most) in zip(rows, right, strict=True):
        assert (row["station"], row["month"], int(row["readings"])) == (station, month, count), row
        assert abs(float(row["mean_C"]) - mean) < 0.0051, row
        assert abs(float(row["max_C"]) - most) < 0.0051, row


if __name__ == "__main__":
    write(Path(sys.argv[1]), readings(GIVEN))
