"""Conductivity of crystals by their phonons: 3C-SiC with the pinned potential, and two known cases.

The stages of lattice dynamics run by themselves, on one core, over meshes of phonons. All three have Tersoff's
potential of 1989: silicon with the same file, germanium with `SiCGe.tersoff`. The cost goes as the sixth power of the
finest mesh.

    python bench/phonons.py --crystal sic --meshes 11 13 15    # about 4 CPU minutes
    python bench/phonons.py --crystal silicon                  # about 2 CPU minutes
    python bench/phonons.py --crystal germanium
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
SILICON = {"species": [{"element": "Si", "mass": 28.0855}] * 2, "potential": "SiC.tersoff"}
GERMANIUM = {"species": [{"element": "Ge", "mass": 72.6}] * 2, "potential": "SiCGe.tersoff"}
COMMON = {"units": "metal", "cells": [2, 2, 2], "pair_style": "tersoff"}
CRYSTALS = {"sic": (SIC, 4.3212), "silicon": (SILICON, 5.4320), "germanium": (GERMANIUM, 5.65)}
BOX = 12 * 4.3212
"""Length of the shortest box of bench/sic_conductivity.py, angstrom."""
PUBLISHED = {
    "germanium": {
        "conductivity": 84.42, "error": 6.32, "temperature": 300.0,
        "source": "Green-Kubo in classical molecular dynamics, 50 runs of 4,096 atoms with GPUMD, the same potential, "
        "lattice constant and mass: github.com/brucefan1983/GPUMD, database/thermal_conductivity/germanium/kappa.txt",
    },
}  # fmt: skip
TRANSPORT = {
    "temperature": 300.0,
    "statistics": "classical",
    "isotopes": "none",
    "lengths": [*(BOX * 2**power for power in range(-2, 5)), 1e4, 1e5, 1e6],
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
    published = {"published": PUBLISHED[args.crystal]} if args.crystal in PUBLISHED else {}
    return {**lattice, **supercells, "forces": forces.result, "transport": found.result, **published}


def main() -> int:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crystal", choices=CRYSTALS, default="sic")
    parser.add_argument(
        "--constant", type=float, help="edge of the unit cell in angstrom; without it that of the potential at rest"
    )
    parser.add_argument("--cells", type=int, default=2)
    parser.add_argument("--harmonic-cells", type=int, default=3)
    parser.add_argument("--meshes", type=int, nargs="+", default=[9, 11, 13])
    args = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), args)
    record(f"phonons_{args.crystal}", found | {"wall_s": time.monotonic() - begun})
    print(found["transport"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
