"""Whether a note has at most ten lines, and names the time, the valve or bottle, and the trip."""

import re
import sys
from pathlib import Path

text = Path(sys.argv[1]).read_text()
assert len([line for line in text.splitlines() if line.strip()]) <= 10, "more than ten lines"
assert re.search(r"15[:.]0[23]", text), "no time of the stop"
assert re.search(r"bottle|valve", text, re.IGNORECASE), "nothing of bottle or valve"
assert re.search(r"trip|voltage", text, re.IGNORECASE), "nothing of the voltage"
