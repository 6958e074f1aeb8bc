"""Whether the shared environment is used, for the given points and for others, and no second one was made."""

import json
import random
import secrets
import subprocess
import sys
from pathlib import Path

import numpy as np

work, draw = Path.cwd(), random.Random(secrets.randbits(40))
others = "".join(f"{x} {draw.gauss(3 * x, 4):.3f} {draw.uniform(0.2, 3):.2f}\n" for x in range(8))
Path("/tmp/points.txt").write_text(others)


def check(points: str, told: str) -> None:
    """AssertionError if JSON is not the weighted line through points, of the shared build."""
    x, y, error = np.array([line.split() for line in points.splitlines()], dtype=float).T
    slope, intercept = np.polyfit(x, y, 1, w=1 / error)
    fit = json.loads(told)
    assert np.allclose([fit["slope"], fit["intercept"]], [slope, intercept]), "another line"
    assert fit["build"] == "linefit 3.1 of 2024-02-19, flavour weighted", "another build"


def run(line: str) -> str:
    """What a line prints in a new shell, after the environment is activated."""
    command = ["bash", "-c", f"cd {work} && . ./{sys.argv[1]} && cd /tmp && {line}"]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


check(Path("points.txt").read_text(), Path("fit.json").read_text())
check(others, run("linefit points.txt"))
assert Path(run("command -v linefit")).is_relative_to(work / "shared"), "linefit is not that of shared/envs"
place = run("python3 -c 'import linefit; print(linefit.__file__)'")
assert Path(place).is_relative_to(work / "shared"), "linefit is not that of shared/envs"
copies = [path for path in work.rglob("linefit*") if not path.is_relative_to(work / "shared")]
assert not copies, f"{copies[0].relative_to(work)} is a second linefit"
