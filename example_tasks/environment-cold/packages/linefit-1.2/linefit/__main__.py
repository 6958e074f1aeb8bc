"""python3 -m linefit FILE, or --version."""

import json
import sys
from pathlib import Path

import barns

import linefit

if sys.argv[1] == "--version":
    print(linefit.__version__)
else:
    rows = [line.split() for line in Path(sys.argv[1]).read_text().splitlines() if line.strip()]
    slope, intercept = linefit.fit([(float(x), barns.in_barn(float(value), unit)) for x, value, unit in rows])
    print(json.dumps({"slope_b": slope, "intercept_b": intercept}))
