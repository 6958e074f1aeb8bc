"""Evaluate many sequences once, for replays of optimisers: `bench/data/sequences.csv`, with the error of each row.

The model is that of campaign copolymer-sequences. LAMMPS takes 22 CPU s for 5e6 steps of one chain, so `chains.c` runs
sixteen chains at a time, one in each lane of a vector, some forty times faster; the estimator of stage warm_up reads
their series. `--record` compares it with LAMMPS: forces, and the radii of `bench/data/sequences_lammps.csv`, which an
earlier version of this script measured by the stage itself (100,000 steps a row, 57 CPU s for all; one has 8e6). Each
pass evaluates every sequence once more, with other seeds. Rows are written sixteen by sixteen, so that a run that is
stopped goes on where it was.

    python bench/sequence_table.py              # rows that are missing, 75 CPU seconds a pass
    python bench/sequence_table.py --record     # write bench/results/sequence_table.json
"""

import argparse
import csv
import ctypes
import json
import math
import resource
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray
from record import record
from scipy import stats

from sophron.records.files import resource as package_file
from sophron.science.chain_conformation.gyration import radius
from sophron.science.estimators.correlated_series import series_mean
from sophron.science.sequence_bo.evaluate import START, data_file
from sophron.science.sequence_bo.gaussian_process import merged
from sophron.science.sequence_bo.sequences import blocks, expand, forward, random_sequences

DATA = Path(__file__).parent / "data"
TABLE, BY_LAMMPS = DATA / "sequences.csv", DATA / "sequences_lammps.csv"
SOURCE = Path(__file__).with_name("chains.c")
COLUMNS = (
    "sequence", "family", "pass", "radius_of_gyration", "radius_of_gyration_error", "effective_samples", "steps",
    "seed",
)  # fmt: skip
LENGTH, COUNT_B, RANDOM, STRUCTURED = 20, 10, 500, 100
STEPS, DISCARD, EVERY = 1_250_000, 20_000, 100
LANES, SEED = 16, 20_260
LOOKED_AT = ("A5B10A5", "A6B10A4")
"""Sequences of the first campaign, run sixteen times more."""

Array = NDArray[np.float64]


@lru_cache(maxsize=1)
def bead_model() -> dict[str, float]:
    """Return the definition of the chain in the shipped campaign."""
    spec = yaml.safe_load(package_file("campaigns", "copolymer-sequences", "campaign.yaml").read_text())
    return dict(spec["stages"]["warm_up"]["definition"]["model"])


class About(ctypes.Structure):
    """`model` of chains.c."""

    _fields_ = [
        ("beads", ctypes.c_int),
        *((name, ctypes.c_double) for name in ("cutoff", "bond_k", "bond_r0", "temperature", "damping", "timestep")),
    ]


class Engine:
    """`chains.c`, compiled for this machine."""

    def __init__(self, folder: Path) -> None:
        """Compile it into `folder`."""
        library = folder / "chains.so"
        subprocess.run(["cc", "-O3", "-march=native", "-fPIC", "-shared", "-o", library, SOURCE, "-lm"], check=True)
        self._run = ctypes.CDLL(str(library)).chains_run
        array = np.ctypeslib.ndpointer(np.float64, flags="C")
        seeds = np.ctypeslib.ndpointer(np.uint64, flags="C")
        counts = [ctypes.c_long, ctypes.c_long]
        self._run.argtypes = [ctypes.POINTER(About), array, array, array, seeds, *counts, array, array]

    def run(self, sequences: Sequence[str], seeds: Sequence[int], steps: int) -> tuple[Array, Array, Array]:
        """Run sixteen chains from the start of the stage; rows (samples, 2, 16) of squared radius and temperature.

        The others are the last positions and the forces on them, (3, beads, 16).
        """
        about = bead_model()
        places = np.repeat(start()[:, :, None], LANES, axis=2).copy()
        speeds = np.stack([velocities(seed, places.shape[1]) for seed in seeds], axis=2)
        rows, forces = np.zeros((steps // EVERY, 2, LANES)), np.zeros_like(places)
        energies = np.stack([pair_energies(one) for one in sequences], axis=2)
        numbers = [float(about[name]) for name, _ in About._fields_[1:]]
        self._run(
            ctypes.byref(About(places.shape[1], *numbers)), places, np.ascontiguousarray(speeds),
            np.ascontiguousarray(energies), np.array(seeds, np.uint64), steps, EVERY, rows, forces,
        )  # fmt: skip
        return rows, places, forces


def start() -> Array:
    """Return the positions of the stage's data file, (3, beads)."""
    lines = data_file("A" * LENGTH, float(bead_model()["bond_r0"])).splitlines()
    first = lines.index("Atoms") + 2
    return np.array([line.split()[3:6] for line in lines[first : first + LENGTH]], np.float64).T


def velocities(seed: int, beads: int) -> Array:
    """Draw them for the temperature of the model, momentum zero, (3, beads)."""
    drawn = np.random.default_rng(seed).normal(0, math.sqrt(bead_model()["temperature"]), (3, beads))
    return drawn - drawn.mean(axis=1, keepdims=True)


def pair_energies(sequence: str) -> Array:
    """Return epsilon of each pair, (beads, beads); that of unlike beads is the geometric mean."""
    root = np.sqrt([bead_model()[f"epsilon_{bead.lower()}"] for bead in sequence])
    return np.outer(root, root)


def parts(total: int, count: int, rng: np.random.Generator) -> list[int]:
    """Cut `total` beads into `count` blocks."""
    cuts = np.sort(rng.choice(np.arange(1, total), count - 1, replace=False))
    return [int(part) for part in np.diff([0, *cuts, total])]


def block_sequence(first: str, count: int, rng: np.random.Generator) -> str:
    """Draw a sequence of `count` blocks that begins with `first`."""
    other = "B" if first == "A" else "A"
    beads = {"A": LENGTH - COUNT_B, "B": COUNT_B}
    lengths = {first: parts(beads[first], (count + 1) // 2, rng), other: parts(beads[other], count // 2, rng)}
    return "".join((first, other)[n % 2] * lengths[(first, other)[n % 2]][n // 2] for n in range(count))


def structured() -> list[str]:
    """All of two and three blocks, periodic ones, and random ones of four to seven blocks."""
    rng, a, b = np.random.default_rng(SEED), LENGTH - COUNT_B, COUNT_B
    found = [expand(f"A{a}B{b}")]
    found += [expand(f"A{i}B{b}A{a - i}") for i in range(1, a // 2 + 1)]
    found += [expand(f"B{i}A{a}B{b - i}") for i in range(1, b // 2 + 1)]
    found += [("A" * n + "B" * n) * (a // n) for n in range(1, a) if a % n == 0]
    unique = dict.fromkeys(forward(sequence) for sequence in found)
    while len(unique) < STRUCTURED:
        number = int(rng.choice([4, 4, 5, 5, 5, 6, 7]))
        unique.setdefault(forward(block_sequence(str(rng.choice(["A", "B"])), number, rng)))
    return list(unique)


@lru_cache(maxsize=1)
def planned() -> list[tuple[str, str]]:
    """Return all rows, sequence and family, five random ones to one that is structured."""
    given = structured()
    drawn = random_sequences(LENGTH, COUNT_B, RANDOM, np.random.default_rng(SEED + 1), given)
    every = len(drawn) // len(given)
    mixed: list[tuple[str, str]] = []
    while given or drawn:
        mixed += [(given.pop(0), "structured")] if given else []
        mixed += [(drawn.pop(0), "random") for _ in range(min(every, len(drawn)))]
    return mixed


def measure(
    engine: Engine, sequences: Sequence[str], seeds: Sequence[int], steps: int = STEPS
) -> list[dict[str, object]]:
    """Evaluate sixteen sequences; the error of a series that looks too slow for one is None."""
    rows, _, _ = engine.run(sequences, seeds, DISCARD + steps)
    found = []
    for lane, (sequence, seed) in enumerate(zip(sequences, seeds, strict=True)):
        mean = series_mean(rows[DISCARD // EVERY :, 0, lane])
        value = radius([mean])
        found.append({
            "sequence": sequence, "radius_of_gyration": value.value, "radius_of_gyration_error": value.error,
            "effective_samples": mean.effective_samples, "steps": steps, "seed": seed,
        })  # fmt: skip
    return found


def read(path: Path = TABLE) -> list[dict[str, str]]:
    """Return the rows that are there."""
    return list(csv.DictReader(path.open())) if path.exists() else []


def run_pass(engine: Engine, number: int) -> None:
    """Add the rows that pass `number` lacks, sixteen at a time; what has no error is run once more, twice as long."""
    families = dict(planned())
    new = not TABLE.exists()
    with TABLE.open("a", newline="") as stream:
        table = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        if new:
            table.writeheader()
        for again in (0, 1):
            done = {row["sequence"] for row in read() if int(row["pass"]) == number}
            seeds = {one: SEED + 1000 * number + 500_000 * again + place for place, one in enumerate(families)}
            missing = [sequence for sequence in families if sequence not in done]
            for at in range(0, len(missing), LANES):
                batch = missing[at : at + LANES]
                filled = batch + batch[:1] * (LANES - len(batch))
                found = measure(engine, filled, [seeds[one] for one in filled], STEPS * (1 + again))
                for row in found[: len(batch)]:
                    if row["radius_of_gyration_error"] is not None:
                        about = {"family": families[str(row["sequence"])], "pass": number}
                        table.writerow({key: _cell(value) for key, value in (row | about).items()})
                stream.flush()


def _cell(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


def force_difference(engine: Engine, folder: Path) -> float:
    """Return the largest difference from LAMMPS in sixteen chains that have moved 100 tau, over the largest force."""
    sequences = [one for one, _ in planned()[:LANES]]
    _, places, forces = engine.run(sequences, list(range(LANES)), 10_000)
    worst = 0.0
    for lane, sequence in enumerate(sequences):
        theirs = forces_by_lammps(folder, sequence, places[:, :, lane])
        worst = max(worst, float(np.abs(theirs - forces[:, :, lane]).max() / np.abs(theirs).max()))
    return worst


def forces_by_lammps(folder: Path, sequence: str, places: Array) -> Array:
    """Return the forces on beads at `places`, (3, beads)."""
    about = bead_model()
    lines = data_file(sequence, float(about["bond_r0"])).splitlines()
    first = lines.index("Atoms") + 2
    for bead, place in enumerate(places.T):
        words = lines[first + bead].split()[:3]
        lines[first + bead] = " ".join([*words, *(f"{one:.17g}" for one in place)])
    (folder / START).write_text("\n".join(lines) + "\n")
    unlike = math.sqrt(about["epsilon_a"] * about["epsilon_b"])
    (folder / "in").write_text(
        f"units lj\nboundary f f f\natom_style bond\nbond_style fene\nspecial_bonds fene\nread_data {START}\n"
        f"bond_coeff 1 {about['bond_k']} {about['bond_r0']} 1.0 1.0\npair_style lj/cut {about['cutoff']}\n"
        f"pair_coeff 1 1 {about['epsilon_a']} 1.0\npair_coeff 1 2 {unlike!r} 1.0\n"
        f"pair_coeff 2 2 {about['epsilon_b']} 1.0\nneighbor 2.0 nsq\nfix 1 all nve\n"
        'dump 1 all custom 1 forces id fx fy fz\ndump_modify 1 sort id format line "%d %.15g %.15g %.15g"\nrun 0\n'
    )
    subprocess.run(["lmp", "-in", "in", "-log", "log", "-screen", "none"], cwd=folder, check=True)
    return np.loadtxt(folder / "forces", skiprows=9)[:, 1:].T


def radii(path: Path) -> dict[str, tuple[float, float]]:
    """Return radius and error by sequence, of all passes."""
    names, values, errors, _ = merged(
        [
            (row["sequence"], float(row["radius_of_gyration"]), float(row["radius_of_gyration_error"]))
            for row in read(path)
        ]
    )
    return dict(zip(names, zip(values.tolist(), errors.tolist(), strict=True), strict=True))


def against_lammps() -> dict[str, float]:
    """Compare the radii of sequences that both programs ran: chi-square of equal values, and the mean difference.

    A plain mean: short runs that happen to be small have small errors too, so weights by errors favour them.
    """
    ours, theirs = radii(TABLE), radii(BY_LAMMPS)
    both = sorted(ours.keys() & theirs.keys())
    differences = np.array([theirs[one][0] - ours[one][0] for one in both])
    errors = np.array([math.hypot(theirs[one][1], ours[one][1]) for one in both])
    chi2 = float(((differences / errors) ** 2).sum())
    return {
        "sequences": len(both),
        "chi2": chi2,
        "p_value": float(stats.chi2.sf(chi2, len(both))),
        "mean_difference": float(differences.mean()),
        "its_error": math.hypot(*errors) / len(both),
        "weighted_by_errors": float(np.average(differences, weights=errors**-2.0)),
    }


def scatter(rows: Sequence[Mapping[str, object]]) -> tuple[float, int]:
    """Return chi-square of equal values of each sequence, and its degrees of freedom."""
    groups = defaultdict(list)
    for row in rows:
        groups[row["sequence"]].append(
            (float(str(row["radius_of_gyration"])), float(str(row["radius_of_gyration_error"])))
        )
    total = 0.0
    for values, errors in (np.array(group).T for group in groups.values()):
        mean = np.average(values, weights=errors**-2.0)
        total += float((((values - mean) / errors) ** 2).sum())
    return total, len(rows) - len(groups)


def repeated(engine: Engine, name: str) -> dict[str, object]:
    """Run one sequence sixteen times: its mean and error, and whether the runs scatter as their errors say."""
    seeds = [SEED + 100_000 + LANES * LOOKED_AT.index(name) + lane for lane in range(LANES)]
    rows = measure(engine, [forward(expand(name))] * LANES, seeds)
    values, errors = ([float(str(row[f"radius_of_gyration{end}"])) for row in rows] for end in ("", "_error"))
    return {
        "sequence": name,
        "runs": LANES,
        "radius_of_gyration": float(np.mean(values)),
        "radius_of_gyration_error": math.hypot(*errors) / LANES,
        "p_value": float(stats.chi2.sf(*scatter(rows))),
    }


def payload(engine: Engine, folder: Path) -> dict[str, object]:
    """Return what the table holds, and what it was compared with."""
    begun = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    again = [repeated(engine, name) for name in LOOKED_AT]
    spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime - begun
    rows, values = read(), radii(TABLE)
    families = dict(planned())
    errors = np.array([error for _, error in values.values()])
    chi2, freedom = scatter(rows)
    return {
        "sequences": {kind: sum(families[one] == kind for one in values) for kind in ("random", "structured")},
        "passes": len({row["pass"] for row in rows}),
        "steps_a_pass": STEPS,
        "median_error": float(np.median(errors)),
        "largest_error": float(errors.max()),
        "spread_of_random": float(np.std([values[one][0] for one in values if families[one] == "random"])),
        "passes_agree": freedom and float(stats.chi2.sf(chi2, freedom)),
        "largest": [
            {"sequence": blocks(one), "radius_of_gyration": values[one][0], "error": values[one][1]}
            for one in sorted(values, key=lambda one: -values[one][0])[:10]
        ],
        "force_difference_from_lammps": force_difference(engine, folder),
        "radii_against_lammps": against_lammps(),
        "run_sixteen_times": again,
        "long_runs_of_lammps": [row for row in read(BY_LAMMPS) if int(row["steps"]) > STEPS],
        "microseconds_a_step_of_a_chain": 1e6 * spent / (len(LOOKED_AT) * LANES * (STEPS + DISCARD)),
    }


def main() -> None:
    """Add the rows that are missing, or record what the table is worth."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--passes", type=int, default=3)
    given.add_argument("--record", action="store_true")
    args = given.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(Path(folder))
        if not args.record:
            for number in range(args.passes):
                run_pass(engine, number)
            return
        found = payload(engine, Path(folder))
    print(json.dumps(found, indent=1), record("sequence_table", found))


if __name__ == "__main__":
    main()
