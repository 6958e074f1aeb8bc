"""Whether the program draws other numbers of periods."""

import subprocess
import sys
import tempfile
from pathlib import Path

from red_wave import check

for periods in (1, 4, 7):
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "wave.png")
        subprocess.run([sys.executable, sys.argv[1], str(periods), target], check=True, timeout=100)
        check(target, periods)
