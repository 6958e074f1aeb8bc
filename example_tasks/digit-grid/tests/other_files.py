"""Whether the program is right for files that nobody saw."""

import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

from digits import check, digits, write

for rows in (2, 6):
    made = digits(secrets.randbits(40), 4)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.csv"), Path(folder, "out.png")
        write(source, made)
        subprocess.run([sys.executable, sys.argv[1], source, str(rows), target], check=True, timeout=60)
        check(target, made, rows)
