import json
import subprocess
import sys
from pathlib import Path

Path("predict.py").write_text("""
import sys

import numpy as np


def features(x):
    a, b, c = x.T
    return np.column_stack([np.ones_like(a), a, b, c, a * a, b * b, c * c, a * b, a * c, b * c])


train = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
test = np.loadtxt(sys.argv[2], delimiter=",", skiprows=1)
weights = np.linalg.lstsq(features(train[:, :3]), train[:, 3], rcond=None)[0]
kinds = (features(test[:, :3]) @ weights > 0.5).astype(int)
with open(sys.argv[3], "w") as stream:
    stream.write("kind\\n" + "".join(f"{kind}\\n" for kind in kinds))
""")
subprocess.run([sys.executable, "predict.py", "train.csv", "test.csv", "predictions.csv"], check=True)
said = subprocess.run([sys.executable, "score/score.py", "predictions.csv"], check=True, capture_output=True, text=True)
Path("metrics.json").write_text(json.dumps({"accuracy": float(said.stdout)}))
