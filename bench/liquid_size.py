"""Viscosity of the demo's liquid in larger boxes, with other seeds and longer cut-offs: what its interval leaves out.

The demo's campaign would take 25 core-hours for all of it with a LAMMPS built for every processor, so `lj_box.c` runs
the same protocol (melt, Langevin, energy set, velocity Verlet) five times faster, and the estimator of stage green_kubo
reads its stress; `check` compares its forces with those of LAMMPS. Replicas that have ended are not run again: it can
be stopped and called again, and records which replicas of which seed there are.

    python bench/liquid_size.py --keep liquid-sizes            # run what is missing, some 2 core-hours, and record
    python bench/liquid_size.py --keep liquid-sizes --only-record
    python bench/liquid_size.py --keep liquid-sizes --campaign 256:2.5:8442    # the campaign itself, by LAMMPS
"""

import argparse
import ctypes
import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from kills import campaign
from numpy.typing import NDArray
from record import record

from sophron.records.documents import load_yaml
from sophron.records.files import resource
from sophron.science.estimators.autocorrelation import StreamedAutocorrelation
from sophron.science.estimators.green_kubo import COMPONENTS, estimate, running_integral, stress_components
from sophron.science.estimators.plateau import Refusal
from sophron.science.estimators.statistical_power import compare_two
from sophron.science.estimators.statistics import NORMAL, Estimated, homogeneity, normal_error, pooled_mean
from sophron.science.viscosity.equilibrate import canonical_energy

ATOMS, SEEDS, CUTOFF = (256, 500, 864), (8442, 8443, 8444, 8445, 8446), 2.5
LARGE, CUTOFFS = 1372, (2.5, 3.5, 5.5)
REPLICAS = 8
CORE_HOURS_AN_ATOM = 60 / 256
TIME_FACTOR = 12
"""Wall time allowed to a campaign, over that of the demo."""
SOURCE = Path(__file__).with_name("lj_box.c")
HOT, SAMPLE_EVERY, HEAT_EVERY = 2.0, 5, 10
SKIN = 0.5

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Box:
    """One row of the matrix: a size, a cut-off and a seed."""

    atoms: int
    cutoff: float
    seed: int

    @property
    def name(self) -> str:
        """Folder of its replicas."""
        return f"{self.atoms}-{self.cutoff:g}-{self.seed}"


MATRIX = [
    *(Box(atoms, CUTOFF, seed) for seed in SEEDS for atoms in ATOMS),
    *(Box(LARGE, one, SEEDS[0]) for one in CUTOFFS),
]


def definitions() -> dict[str, Any]:
    """Definitions of the demo's stages, by name."""
    document = load_yaml(resource("campaigns", "lj-liquid-viscosity", "campaign.yaml")).data
    return {name: stage["definition"] for name, stage in document["stages"].items()}


class Engine:
    """`lj_box.c`, compiled for this machine."""

    def __init__(self, folder: Path) -> None:
        """Compile it into `folder`."""
        library = folder / "lj_box.so"
        command = ["cc", "-O3", "-march=native", "-fPIC", "-shared", "-o", str(library), str(SOURCE), "-lm"]
        subprocess.run(command, check=True)
        self._run = ctypes.CDLL(str(library)).lj_run
        real, array = ctypes.c_double, np.ctypeslib.ndpointer(np.float64, flags="C")
        box = [ctypes.c_int, real, real, real, array, array, real, ctypes.c_long, ctypes.c_long, array]
        self._run.argtypes = [*box, real, real, ctypes.c_uint64, array]

    def run(
        self, system: "System", timestep: float, steps: int, every: int, heat: tuple[float, float, int] = (0, 1, 0)
    ):
        """Move `system` on; rows (steps / every + 1, 8): kinetic temperature, potential energy, six pressures.

        heat: temperature, damping and seed of a Langevin thermostat; temperature 0 for none.
        """
        rows = np.zeros((steps // every + 1, 8))
        atoms = system.places.shape[1]
        skin = min(SKIN, 0.95 * (system.side / 2 - system.cutoff))
        box = (atoms, system.side, system.cutoff, skin, system.places, system.velocities)
        self._run(*box, timestep, steps, every, rows, *heat, system.forces)
        return rows


@dataclass
class System:
    """Places, velocities and forces, (3, atoms), in a cube; changed by `Engine.run`, also their order."""

    places: Array
    velocities: Array
    forces: Array
    side: float
    cutoff: float

    @classmethod
    def lattice(cls, atoms: int, density: float, cutoff: float, temperature: float, seed: int) -> "System":
        """Face-centred cubic, velocities of `temperature`, momentum zero."""
        cells, side = round((atoms / 4) ** (1 / 3)), (atoms / density) ** (1 / 3)
        corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3), axis=-1).reshape(-1, 3)
        basis = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
        places = np.ascontiguousarray((corners[:, None] + basis).reshape(-1, 3).T * side / cells)
        velocities = np.random.default_rng(seed).normal(0, math.sqrt(temperature), places.shape)
        velocities -= velocities.mean(axis=1, keepdims=True)
        return cls(places, velocities, np.zeros_like(places), side, cutoff)


def replica(engine: Engine, box: Box, number: int) -> dict[str, Any]:
    """One replica by the demo's protocol: its six pressures, and the mean temperature and drift of its energy."""
    stages = definitions()
    relax, hot, made = stages["relax"], stages["equilibrate"], stages["produce"]
    seeds = [
        int(one)
        for one in np.random.SeedSequence([box.seed, box.atoms, round(10 * box.cutoff), number]).generate_state(3)
    ]
    system = System.lattice(box.atoms, stages["build"]["density"], box.cutoff, relax["temperature"], seeds[0])
    heat = (relax["temperature"], hot["damping"], seeds[1])
    engine.run(system, relax["timestep"], relax["steps"], relax["steps"], heat)
    heat = (hot["temperature"], hot["damping"], seeds[2])
    rows = engine.run(system, hot["timestep"], hot["discard_steps"] + hot["steps"], HEAT_EVERY, heat)
    freedoms = 3 * box.atoms - 3
    kinetic, total = rows[:, 0], (rows[:, 1] + rows[:, 0] * freedoms / 2) / box.atoms
    after = slice(hot["discard_steps"] // HEAT_EVERY + 1, None)
    energy = canonical_energy(kinetic[after], total[after], hot["temperature"], box.atoms)
    wanted = 2 * (energy.mean * box.atoms - rows[-1, 1]) / freedoms
    system.velocities *= math.sqrt(wanted / rows[-1, 0])
    engine.run(system, hot["timestep"], hot["settle_steps"], hot["settle_steps"])
    rows = engine.run(system, made["timestep"], made["steps"], SAMPLE_EVERY)
    total = (rows[:, 1] + rows[:, 0] * freedoms / 2) / box.atoms
    drift = np.polyfit(np.linspace(0, 1, len(total)), total, 1)[0]
    return {"pressure": rows[:, 2:], "temperature": rows[:, 0].mean(), "drift": drift, "volume": system.side**3,
            "interval_tau": SAMPLE_EVERY * made["timestep"]}  # fmt: skip


def run_missing(base: Path, order: list[tuple[Box, int]]) -> None:
    """Run all replicas of `order` that have not ended, one after the other."""
    engine = Engine(base)
    for box, number in order:
        path = base / "boxes" / box.name / f"{number}.npz"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            found = replica(engine, box, number)
            with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
                np.savez(part, **found)
            Path(part.name).rename(path)
            print(path, found["temperature"], found["drift"], flush=True)


def integrals(path: Path, lags: int) -> tuple[Array, dict[str, float]]:
    """Running integrals of the five components of one replica, (5, lags); and its scalars."""
    with np.load(path) as archive:
        streamed = StreamedAutocorrelation(lags, len(COMPONENTS))
        streamed.add(stress_components(archive["pressure"]))
        about = {name: float(archive[name]) for name in ("temperature", "drift", "volume", "interval_tau")}
    return streamed.result().T, about


def measured(base: Path, box: Box) -> dict[str, Any] | None:
    """Viscosity of the replicas of a box that have ended; None below two."""
    paths = sorted((base / "boxes" / box.name).glob("[0-9].npz"))
    if len(paths) < 2:
        return None
    stages = definitions()
    interval = SAMPLE_EVERY * stages["produce"]["timestep"]
    lags = round(stages["green_kubo"]["max_lag_tau"] / interval) + 1
    pairs = [integrals(path, lags) for path in paths]
    temperatures = np.array([about["temperature"] for _, about in pairs])
    acf = np.stack([one for one, _ in pairs])
    integral = running_integral(np.moveaxis(acf, -1, 0), interval, pairs[0][1]["volume"], float(temperatures.mean()))
    found = estimate(interval * np.arange(lags), np.ascontiguousarray(np.moveaxis(integral, 0, -1)),
                     stages["produce"]["steps"] * stages["produce"]["timestep"])  # fmt: skip
    row = {**asdict(box), "replicas": len(paths), "temperature": float(temperatures.mean()),
           "largest_drift": max(abs(about["drift"]) for _, about in pairs)}  # fmt: skip
    if isinstance(found, Refusal):
        return {**row, "refusal": str(found)}
    return {**row, "viscosity": found.coefficient, "viscosity_standard_error": found.standard_error,
            "degrees_of_freedom": found.degrees_of_freedom, "interval_low": found.low, "interval_high": found.high,
            "cutoff_tau": found.cutoff.time, "refusal": None}  # fmt: skip


def spec(box: Box) -> str:
    """The demo's campaign of another size, cut-off and seed."""
    document = load_yaml(resource("campaigns", "lj-liquid-viscosity", "campaign.yaml")).data
    stages = document["stages"]
    document["seed"] = box.seed
    document["question"]["conditions"]["cutoff"] = box.cutoff
    stages["build"]["definition"]["atoms"] = box.atoms
    stages["build"]["definition"]["model"]["cutoff"] = box.cutoff
    for stage in stages.values():
        for times in (stage["mechanical"], stage["mechanical"]["ceilings"]):
            times["runtime_min"] *= TIME_FACTOR
    document["limits"]["core_hours"] = round(CORE_HOURS_AN_ATOM * box.atoms * TIME_FACTOR)
    return yaml.safe_dump(document, sort_keys=False)


def run_campaign(base: Path, box: Box) -> None:
    """Run the demo's campaign for a box, by LAMMPS, as far as stage green_kubo."""
    root = base / box.name
    if not (base / "key").exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / "key")], check=True)
    if not root.exists():
        campaign(root, spec(box), base / "key")
    command = ["snakemake", "--cores", "1", "--nolock", "--rerun-incomplete", "--logger", "sophron", "--quiet"]
    subprocess.run([*command, "rules", "--", "results/green_kubo/outcome.json"], cwd=root, check=True)


def campaigns(base: Path) -> list[dict[str, Any]]:
    """Results of the campaigns that were run by LAMMPS and have ended."""
    rows = []
    for path in sorted(base.glob("*-*-*/results/green_kubo/outcome.json")):
        atoms, cutoff, seed = path.parts[-4].split("-")
        result = json.loads(path.read_text())["result"]
        names = ("replicas", "viscosity", "viscosity_standard_error", "degrees_of_freedom", "interval_low",
                 "interval_high", "cutoff_tau", "refusal")  # fmt: skip
        about = {
            "atoms": int(atoms),
            "cutoff": float(cutoff),
            "seed": int(seed),
            "temperature": result["temperature_mean"],
        }
        rows.append({**about, **{name: result[name] for name in names}})
    return rows


def check(base: Path) -> dict[str, float]:
    """Forces, energy and pressure of a melt against LAMMPS: largest differences, over the largest force and so on."""
    system = System.lattice(500, definitions()["build"]["density"], CUTOFF, HOT, 1)
    engine = Engine(base)
    engine.run(system, 0.005, 1000, 1000, (HOT, 0.5, 1))
    rows = engine.run(system, 0.005, 0, 1)
    folder = Path(tempfile.mkdtemp(dir=base))
    beads = [f"{i + 1} 1 {x:.17g} {y:.17g} {z:.17g}" for i, (x, y, z) in enumerate(system.places.T)]
    speeds = [f"{i + 1} {x:.17g} {y:.17g} {z:.17g}" for i, (x, y, z) in enumerate(system.velocities.T)]
    sides = [f"0 {system.side:.17g} {axis}lo {axis}hi" for axis in "xyz"]
    text = ["box", "", "500 atoms", "1 atom types", *sides, "", "Masses", "", "1 1.0", "", "Atoms", "", *beads]
    (folder / "data").write_text("\n".join([*text, "", "Velocities", "", *speeds, ""]))
    (folder / "in").write_text(
        "units lj\natom_style atomic\nread_data data\npair_style lj/cut 2.5\npair_modify shift yes\n"
        "pair_coeff 1 1 1 1\ncompute f all pressure thermo_temp\ncompute e all pe\nfix 1 all nve\n"
        "thermo_style custom step temp c_e pxx pyy pzz pxy pxz pyz\nthermo_modify norm no format float %.15g\n"
        'dump 1 all custom 1 forces id fx fy fz\ndump_modify 1 sort id format line "%d %.15g %.15g %.15g"\nrun 0\n'
    )
    subprocess.run(["lmp", "-in", "in", "-log", "log", "-screen", "none"], cwd=folder, check=True)
    forces = np.loadtxt(folder / "forces", skiprows=9)[:, 1:].T
    lines = (folder / "log").read_text().splitlines()
    theirs = np.array(
        lines[next(i for i, line in enumerate(lines) if line.split()[:1] == ["Step"]) + 1].split(), float
    )[1:]
    off = np.abs(rows[0] - theirs) / np.abs(theirs)
    return {
        "force": float(np.abs(forces - system.forces).max() / np.abs(forces).max()),
        "temperature": float(off[0]),
        "energy": float(off[1]),
        "pressure": float(np.abs(rows[0, 2:] - theirs[2:]).max() / np.abs(theirs[2:]).max()),
    }


def _estimated(row: dict[str, Any]) -> Estimated:
    names = ("viscosity", "viscosity_standard_error", "degrees_of_freedom")
    value, error, freedom = (row[name] for name in names)
    return Estimated(value, error, freedom)


def pooled(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Mean over rows that gave a value, and whether they scatter as their errors say; None without any."""
    given = [_estimated(row) for row in rows if row["refusal"] is None]
    if not given:
        return None
    if len(given) == 1:
        return {**asdict(given[0]), "rows": 1, "p_value": None}
    columns = ([one.value for one in given], [one.error for one in given], [one.degrees_of_freedom for one in given])
    return {**asdict(pooled_mean(*columns)), "rows": len(given), "p_value": homogeneity(*columns).p_value}


def in_large_boxes(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Straight line in 1/atoms through all rows of the demo's cut-off: at 1/atoms = 0, and what it says of the demo."""
    given = [row for row in rows if row["refusal"] is None and row["cutoff"] == CUTOFF]
    inverse = np.array([1 / row["atoms"] for row in given])
    value = np.array([row["viscosity"] for row in given])
    error = np.array([normal_error(row["viscosity_standard_error"], row["degrees_of_freedom"]) for row in given])
    (slope, intercept), covariance = np.polyfit(inverse, value, 1, w=1 / error, cov="unscaled")
    slope_error = float(covariance[0, 0] ** 0.5)
    half = NORMAL * slope_error
    chi2 = float((((value - intercept - slope * inverse) / error) ** 2).sum())
    return {"viscosity": float(intercept), "error": float(covariance[1, 1] ** 0.5), "slope": float(slope),
            "slope_error": slope_error, "slope_interval": [float(slope - half), float(slope + half)],
            "shortfall_of_the_demo_percent": float(-100 * slope / ATOMS[0] / intercept),
            "its_error_percent": float(100 * slope_error / ATOMS[0] / intercept),
            "chi2": chi2, "rows": len(given)}  # fmt: skip


def _compared(one: dict[str, Any] | None, two: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the test of two pooled values, relative: difference, its error, and the smallest it would have found."""
    if one is None or two is None:
        return None
    values = [Estimated(*(row[key] for key in ("value", "error", "degrees_of_freedom"))) for row in (one, two)]
    found = compare_two(*values)
    return {**asdict(found), "agreement": found.agreement(0.05)}


def payload(base: Path) -> dict[str, Any]:
    """All that has run, and what follows; what has not is listed. Sizes are pooled over both programs."""
    measurements = {box: measured(base, box) for box in MATRIX}
    boxes, by_lammps = [row for row in measurements.values() if row], campaigns(base)
    there = {(row["atoms"], row["cutoff"], row["seed"]) for row in [*boxes, *by_lammps]}

    def at(atoms: int, *tables: list[dict[str, Any]]) -> dict[str, Any] | None:
        return pooled([row for table in tables for row in table if (row["atoms"], row["cutoff"]) == (atoms, CUTOFF)])

    sizes = {atoms: at(atoms, boxes, by_lammps) for atoms in (*ATOMS, LARGE)}
    cutoffs = {cutoff: pooled([row for row in boxes if row["cutoff"] == cutoff and row["atoms"] > ATOMS[0]])
               for cutoff in CUTOFFS}  # fmt: skip
    return {
        "against_lammps": check(base),
        "boxes": boxes,
        "campaigns": by_lammps,
        "absent": [asdict(box) for box in MATRIX if (box.atoms, box.cutoff, box.seed) not in there],
        "of_fewer_replicas": [asdict(box) for box, row in measurements.items() if row and row["replicas"] < REPLICAS],
        "sizes": sizes,
        "programs": {atoms: _compared(at(atoms, by_lammps), at(atoms, boxes)) for atoms in ATOMS},
        "smallest_and_largest": _compared(sizes[ATOMS[0]], sizes[ATOMS[-1]]),
        "in_large_boxes": in_large_boxes([*boxes, *by_lammps]),
        "cutoffs": cutoffs,
        "truncation": {cutoff: _compared(cutoffs[CUTOFF], cutoffs[cutoff]) for cutoff in CUTOFFS[1:]},
    }


def main() -> int:
    """Run what is missing, and record all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, required=True, help="folder for stresses and campaigns")
    parser.add_argument("--only-record", action="store_true", help="run nothing")
    parser.add_argument(
        "--run", action="append", metavar="ATOMS:CUTOFF:SEED[:REPLICAS]", help="these boxes, in this order"
    )
    parser.add_argument(
        "--campaign", action="append", default=[], metavar="ATOMS:CUTOFF:SEED", help="by LAMMPS as well"
    )
    args = parser.parse_args()
    base = args.keep.absolute()
    base.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_CONFIG_HOME"] = str(base / "config")
    if not args.only_record:
        run_missing(base, [pair for words in args.run or [""] for pair in _order(words)])
    for words in args.campaign:
        run_campaign(base, _box(words.split(":")))
    found = payload(base)
    print(json.dumps(found, indent=2))
    record("liquid_size", found)
    return 0


def _box(words: list[str]) -> Box:
    return Box(int(words[0]), float(words[1]), int(words[2]))


def _order(words: str) -> list[tuple[Box, int]]:
    """Replicas of one box, or of the whole matrix."""
    if not words:
        return [(box, number) for box in MATRIX for number in range(REPLICAS)]
    parts = words.split(":")
    return [(_box(parts), number) for number in range(int(parts[3]) if len(parts) > 3 else REPLICAS)]


if __name__ == "__main__":
    sys.exit(main())
