"""A line as PDF and PNG; and the template script of the skill."""

import json
import os
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt

figure, axes = plt.subplots()
axes.plot([0, 1, 4, 9])
for name in ("line.pdf", "line.png"):
    figure.savefig(name)
files = [Path(name).read_bytes()[:4] for name in ("line.pdf", "line.png")]
script = Path(os.environ["SKILL"]) / "scripts" / "plot_template.py"
ended = subprocess.run(
    [sys.executable, script], check=False, stdout=subprocess.DEVNULL, env={**os.environ, "MPLBACKEND": "agg"}
)
print(json.dumps({"files": sum(head in (b"%PDF", b"\x89PNG") for head in files), "template_script": ended.returncode}))
