import json
import re
from collections import Counter
from pathlib import Path

lines = [line for path in Path("shifts").iterdir() for line in path.read_text().splitlines()]
trips = (re.match(r"\d\d:\d\d TRIP (\w+)", line) for line in lines)
Path("trips.json").write_text(json.dumps(Counter(trip[1] for trip in trips if trip)))
