import subprocess
import sys
from pathlib import Path

Path("smoke.py").write_text("""
import json
import sys
import time

import numpy as np

size = int(sys.argv[1])
matrix = np.sin(np.arange(size * size, dtype=float)).reshape(size, size)
begun = time.perf_counter()
product = matrix @ matrix
seconds = time.perf_counter() - begun
with open(sys.argv[2], "w") as stream:
    json.dump({"device": "cpu", "size": size, "norm": float(np.linalg.norm(product)), "seconds": seconds}, stream)
""")
subprocess.run([sys.executable, "smoke.py", "300", "smoke.json"], check=True)
