import subprocess
import sys
from pathlib import Path

Path("train.py").write_text("""
import json

import numpy as np

draw = np.random.default_rng(1)
arm, radius = draw.integers(0, 3, 2500), draw.uniform(0.15, 1, 2500)
angle = 4 * radius + 2 * np.pi * arm / 3 + draw.normal(0, 0.15, 2500)
x = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
inner = draw.normal(0, 4, (2, 300))
shift = draw.uniform(0, 2 * np.pi, 300)
features = np.cos(x @ inner + shift)
wanted = np.eye(3)[arm]
known = features[:2000]
outer = np.linalg.solve(known.T @ known + 1e-3 * np.eye(300), known.T @ wanted[:2000])
accuracy = float(np.mean((features[2000:] @ outer).argmax(axis=1) == arm[2000:]))
np.savez("model.npz", inner=inner, shift=shift, outer=outer)
with open("metrics.json", "w") as stream:
    json.dump({"accuracy": accuracy}, stream)
""")
Path("predict.py").write_text("""
import csv
import sys

import numpy as np

model = np.load("model.npz")
with open(sys.argv[1]) as stream:
    x = np.array([[float(row["x"]), float(row["y"])] for row in csv.DictReader(stream)])
arms = (np.cos(x @ model["inner"] + model["shift"]) @ model["outer"]).argmax(axis=1)
with open(sys.argv[2], "w") as stream:
    stream.write("arm\\n" + "".join(f"{arm}\\n" for arm in arms))
""")
subprocess.run([sys.executable, "train.py"], check=True)
