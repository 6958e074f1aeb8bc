"""Whether the monthly table is that of the given readings."""

import sys
from pathlib import Path

from stations import GIVEN, compare, readings

compare(Path(sys.argv[1]), readings(GIVEN))
