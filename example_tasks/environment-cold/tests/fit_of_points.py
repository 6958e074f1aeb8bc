"""Whether the fit is that of the given points."""

import sys
from pathlib import Path

from lines import check

check(Path("points.txt").read_text(), Path(sys.argv[1]).read_text())
