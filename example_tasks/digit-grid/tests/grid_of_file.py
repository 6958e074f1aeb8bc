"""Whether the picture is the grid of the given file."""

import sys
from pathlib import Path

from digits import GIVEN, ROWS, check, digits

check(Path(sys.argv[1]), digits(GIVEN, ROWS), ROWS)
