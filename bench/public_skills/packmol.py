"""Thirty waters in a box of 12 angstrom: no two atoms of two molecules nearer than the tolerance."""

import json
import subprocess
from pathlib import Path

import numpy as np

Path("water.xyz").write_text("3\n\nO 0 0 0\nH 0.9572 0 0\nH -0.24 0.9266 0\n")
box = "structure water.xyz\n number 30\n inside box 0. 0. 0. 12. 12. 12.\nend structure\n"
order = f"tolerance 2.0\nfiletype xyz\noutput packed.xyz\nseed 1\n{box}"
Path("packed.inp").write_text(order)
subprocess.run(["packmol", "-i", "packed.inp"], check=True, stdout=subprocess.DEVNULL)
place = np.array([line.split()[1:4] for line in Path("packed.xyz").read_text().splitlines()[2:]], float)
apart = np.linalg.norm(place[:, None] - place[None], axis=2)
apart[np.arange(90)[:, None] // 3 == np.arange(90)[None] // 3] = np.inf
print(
    json.dumps(
        {
            "molecules": len(place) // 3,
            "closest": float(apart.min()),
            "closest_below_tolerance": int(apart.min() < 1.99),
        }
    )
)
