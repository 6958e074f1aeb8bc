"""Whether the environment works in a new shell, from another folder, and without the packages that it was made from."""

import random
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

from lines import check

draw = random.Random(secrets.randbits(40))
points = "".join(f"{x} {draw.uniform(1, 900):.1f} {draw.choice(['nb', 'ub', 'mb'])}\n" for x in range(6))
work = Path.cwd()
Path("/tmp/points.txt").write_text(points)
shutil.rmtree("packages")


def run(line: str) -> str:
    """What a line prints in a new shell, after the environment is activated."""
    whole = f". {work}/{sys.argv[1]} && cd /tmp && {line}"
    command = ["env", "-u", "PYTHONPATH", "bash", "-c", f"cd {work} && {whole}"]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


assert run("linefit --version") == "1.2", "another release"
check(points, run("linefit points.txt"))
for name in ("linefit", "barns"):
    place = run(f"python3 -c 'import {name}; print({name}.__file__)'")
    assert Path(place).is_relative_to(work / "env"), f"{name} does not lie in env/"
