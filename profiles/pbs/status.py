#!/usr/bin/env python3
"""How a job stands, for Snakemake, as `submit.py` beside it says: `status.py ID` prints success, failed or running."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the folder of a profile holds what was installed and nothing else
sys.path.insert(0, str(Path(__file__).parent))  # PYTHONSAFEPATH, which a driver sets, leaves it out

from submit import status  # type: ignore[import-not-found]  # noqa: E402

print(status(sys.argv[1]))
