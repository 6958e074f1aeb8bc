"""Whether a summary is that of the events, which are made again here and not read."""

import json
import sys
from pathlib import Path

import numpy as np
from shower import SCALE_MEV, events

told = json.loads(Path(sys.argv[1]).read_text())
counts, bad = events()
good = np.where(bad, 0, counts)
assert told["events"] == len(counts), "events"
assert told["bad_cells"] == int(bad.sum()), "bad_cells"
assert abs(told["total_GeV"] - good.sum() * SCALE_MEV / 1000) < 1e-3, "total_GeV"
assert list(told["hottest"]) == [int(place) for place in np.unravel_index(good.argmax(), good.shape)], "hottest"
