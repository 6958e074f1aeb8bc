"""Conductivity of crystals by their phonons: 3C-SiC with the pinned potential, and two known cases.

The stages of lattice dynamics run by themselves, on one core, over meshes of phonons. All three have Tersoff's
potential of 1989: silicon with the same file, germanium with `SiCGe.tersoff`. The cost goes as the sixth power of the
finest mesh. Meshes that have ended are kept, so that it can be stopped and called again.

    python bench/phonons.py --crystal sic        # about 2 CPU minutes
    python bench/phonons.py --crystal silicon
    python bench/phonons.py --crystal germanium
"""

import argparse
import pickle
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from conductivity import run
from phono3py import Phono3py
from record import record

from sophron.interfaces.kind import StepContext
from sophron.science.conductivity import transport
from sophron.science.conductivity.phonon_transport import (
    ACOUSTIC,
    Modes,
    conductivity,
    extrapolate_mesh,
    mean,
    mode_conductivity,
    scattering_rate,
)

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
    "silicon": {
        "mesh": 5, "solved": 256.0, "relaxation_time": 226.0, "relative_tolerance": 0.01, "temperature": 300.0,
        "source": "the Boltzmann equation with quantum occupations by kALDo, with force constants of its own: "
        "github.com/nanotheorygroup/kaldo cacbe6ce, kaldo/tests/test_crystal.py; the dynamical matrix there, "
        "si-crystal/Dyn.form at a = 5.430 angstrom, is that of this potential within 2e-5 of its largest element",
    },
}  # fmt: skip
TRANSPORT = {
    "temperature": 300.0,
    "statistics": "classical",
    "isotopes": "none",
    "lengths": [*(BOX * 2**power for power in range(-2, 5)), 1e4, 1e5, 1e6],
}


def crystal(folder: Path, args: argparse.Namespace) -> tuple[Phono3py, dict[str, Any]]:
    """Run the stages up to the force constants; what they were made of."""
    build, usual = CRYSTALS[args.crystal]
    lattice = {"style": "zincblende", "constant": usual}
    built = run(folder, "build", COMMON | build | {"lattice": lattice}, [], 1, replica="0")
    supercells = {"cells": 2, "harmonic_cells": 3, "displacement": 0.03}
    displaced = run(folder, "displace", supercells, [built], 1)
    forces = run(folder, "forces", {"batches": 1}, [displaced], 1, batch="0")
    upstream = {"displace": [displaced], "forces": [forces]}
    made = transport.force_constants(StepContext("transport", {}, {}, upstream, folder, folder, 1))
    return made, {**lattice, **supercells, "potential": build["potential"], "forces": forces.result}


def on_mesh(made: Phono3py, mesh: int, kept: Path) -> transport.OnMesh:
    """Return one mesh, from the folder if it is there."""
    if not kept.exists():
        begun = time.process_time()
        found = transport.on_mesh(made, mesh, TRANSPORT)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(found))
        print(kept.name, f"{time.process_time() - begun:.0f} CPU s", flush=True)
    return pickle.loads(kept.read_bytes())


def main() -> int:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crystal", choices=CRYSTALS, default="sic")
    parser.add_argument("--meshes", type=int, nargs="+", default=[10, 12, 14])
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "sophron-phonons")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made, about = crystal(Path(folder), args)
        found = [on_mesh(made, mesh, args.keep / f"{args.crystal}-{mesh}.pickle") for mesh in args.meshes]
    result = transport.gather_meshes(found, TRANSPORT)
    finest = found[-1].modes[TRANSPORT["statistics"]]
    paths = [10.0**power for power in range(2, 7)]
    result["accumulation"] = [
        {"free_path": path, "share": float(share)}
        for path, share in zip(paths, accumulation(finest, paths), strict=True)
    ]
    result["nearest_points"] = [{"mesh": one.mesh, "rate_over_distance_squared": nearest_rates(one)} for one in found]
    result["ends_of_finer_meshes"] = [ends(result["meshes"][first:]) for first in range(len(found) - 2)]
    published = {"published": PUBLISHED[args.crystal]} if args.crystal in PUBLISHED else {}
    if args.crystal == "silicon":
        published["on_the_published_mesh"] = quantum(made, published["published"]["mesh"])
    record(f"phonons_{args.crystal}", about | {"transport": result} | published)
    print(result)
    return 0


def quantum(made: Phono3py, mesh: int) -> dict[str, float]:
    """W/(m K) with quantum occupations on one mesh, without what is missed around the zone's centre."""
    found = transport.on_mesh(made, mesh, TRANSPORT | {"statistics": "quantum"})
    bare = conductivity(found.modes["quantum"], isotopes=False)
    return {"solved": mean(found.tensor), "relaxation_time": mean(bare)}


def nearest_rates(found: transport.OnMesh) -> list[float]:
    """Return rates of the acoustic bands next to the centre over the square of their distance, angstrom^2/ps."""
    modes = found.modes[TRANSPORT["statistics"]]
    nearest = modes.distance[modes.distance > 0].min()
    shell = np.abs(modes.distance - nearest) < 0.001 * nearest
    return (modes.anharmonic[shell, :ACOUSTIC].mean(axis=0) / nearest**2).tolist()


def ends(rows: list[dict[str, float]]) -> dict[str, float]:
    """Return where these meshes end with and without the centre's cell, and by a straight line in 1/N^2."""
    meshes, found = [int(row["mesh"]) for row in rows], {"from_mesh": rows[0]["mesh"]}
    for name, share in (("with_centre", 0), ("without_centre", 1)):
        values = [row["solved"] * (1 - share * row["zone_centre"]) for row in rows]
        end = extrapolate_mesh(meshes, values)
        square = float(np.polyfit(1 / np.square(meshes, dtype=float), values, 1)[1])
        found |= {name: end.value, f"{name}_error": end.error, f"{name}_by_square": square}
    return found


def accumulation(found: Modes, paths: list[float]) -> np.ndarray:
    """Return the share of the conductivity that free paths up to each of `paths` (angstrom) carry."""
    rate = scattering_rate(found, isotopes=False)
    carried = mode_conductivity(found, rate)[..., :3].mean(axis=-1)
    path = found.speed / np.where(rate > 0, rate, np.inf)
    return np.array([carried[path <= one].sum() for one in paths]) / carried.sum()


if __name__ == "__main__":
    sys.exit(main())
