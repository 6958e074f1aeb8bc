"""Whether the charges are those that the skill gives."""

import csv
import sys
from pathlib import Path

from strips import NOISY, charge, readings

rows = [
    (int(row["strip"]), float(row["charge_fC"])) for row in csv.DictReader(Path(sys.argv[1]).read_text().splitlines())
]
right = [(strip, charge(strip, counts)) for strip, counts in readings() if strip not in NOISY]
assert [strip for strip, _ in rows] == [strip for strip, _ in right], "other strips than the skill keeps"
wrong = [strip for (strip, told), (_, true) in zip(rows, right, strict=True) if abs(told - true) > 0.0011]
assert not wrong, f"the charge of strip {wrong[0]} is wrong"
