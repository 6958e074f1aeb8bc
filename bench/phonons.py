"""Conductivity of crystals by their phonons: 3C-SiC with the pinned potential of the campaign, and silicon.

The stages of lattice dynamics run by themselves, on one core, over meshes of phonons.

    python bench/phonons.py --crystal sic     # about 10 CPU minutes
    python bench/phonons.py --crystal silicon
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from conductivity import run
from record import record

SIC = {"species": [{"element": "Si", "mass": 28.0855}, {"element": "C", "mass": 12.0107}], "potential": "SiC.tersoff"}
SILICON = {"species": [{"element": "Si", "mass": 28.0855}] * 2, "potential": "Si.tersoff"}
COMMON = {"units": "metal", "cells": [2, 2, 2], "pair_style": "tersoff"}
CRYSTALS = {"sic": (SIC, 4.3212), "silicon": (SILICON, 5.4312)}
TRANSPORT = {
    "temperature": 300.0,
    "statistics": "classical",
    "isotopes": "none",
    "lengths": [26.0, 52.0, 104.0, 208.0, 1000.0, 10000.0, 100000.0],
}


def measure(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Result of transport with the lattice constant that it was for."""
    build, usual = CRYSTALS[args.crystal]
    lattice = {"style": "zincblende", "constant": args.constant or usual}
    built = run(folder, "build", COMMON | build | {"lattice": lattice}, [], 1, replica="0")
    supercells = {"cells": args.cells, "harmonic_cells": args.harmonic_cells, "displacement": 0.03}
    displaced = run(folder, "displace", supercells, [built], 1)
    forces = run(folder, "forces", {"batches": 1}, [displaced], 1, batch="0")
    found = run(folder, "transport", TRANSPORT | {"meshes": args.meshes}, [displaced, forces], 1)
    return {**lattice, **supercells, "forces": forces.result, "transport": found.result}


def main() -> int:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crystal", choices=CRYSTALS, default="sic")
    parser.add_argument(
        "--constant", type=float, help="edge of the unit cell in angstrom; without it that of the potential at rest"
    )
    parser.add_argument("--cells", type=int, default=2)
    parser.add_argument("--harmonic-cells", type=int, default=3)
    parser.add_argument("--meshes", type=int, nargs="+", default=[11, 15, 19, 23])
    args = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), args)
    record(f"phonons_{args.crystal}", found | {"wall_s": time.monotonic() - begun})
    print(found["transport"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
