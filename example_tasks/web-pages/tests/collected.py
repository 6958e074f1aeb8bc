"""Whether the table is that of the given site."""

import csv
import sys
from pathlib import Path

from site_pages import GIVEN, HEADER, rows

with Path(sys.argv[1]).open(encoding="utf-8", newline="") as stream:
    assert list(csv.reader(stream)) == [list(HEADER), *rows(GIVEN)], "the rows differ"
