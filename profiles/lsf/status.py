#!/usr/bin/env python3
"""How a job of IBM Spectrum LSF stands, for Snakemake: `status.py ID` prints success, failed or running."""

import sys

sys.dont_write_bytecode = True  # the folder of a profile holds what was installed and nothing else

from submit import status  # type: ignore[import-not-found]  # noqa: E402

print(status(sys.argv[1]))
