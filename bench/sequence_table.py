"""Evaluate many sequences of one chain once, for replays of optimisers: `bench/data/sequences_<chain>.csv`.

Rows are written one by one, in an order that mixes random and structured sequences, so that a run that is stopped goes
on where it was: `python bench/sequence_table.py`. Later passes repeat the largest values with other seeds. The chain
`tuned` is another one, shorter and with another interaction: settings are tried there, and judged on `judged`.
"""

import argparse
import csv
import resource
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from sophron.interfaces.kind import Cores, EngineFailure, StepContext
from sophron.science.sequence_bo.evaluate import evaluate
from sophron.science.sequence_bo.sequences import expand, forward, random_sequences

DATA = Path(__file__).parent / "data"
COLUMNS = (
    "sequence", "family", "pass", "radius_of_gyration", "radius_of_gyration_error", "effective_samples", "steps",
    "seed", "cpu_s",
)  # fmt: skip
BEADS = {
    "bond_k": 30.0, "bond_r0": 1.5, "cutoff": 2.5, "temperature": 1.0, "damping": 1.0, "timestep": 0.01,
    "epsilon_a": 1.0,
}  # fmt: skip
CHAINS = {
    "judged": {
        "length": 20,
        "count_b": 10,
        "model": {**BEADS, "epsilon_b": 1.5},
        "random": 500,
        "structured": 100,
        "again": 150,
    },
    "tuned": {
        "length": 16,
        "count_b": 8,
        "model": {**BEADS, "epsilon_b": 2.0},
        "random": 60,
        "structured": 20,
        "again": 40,
    },
}
STEPS = 100_000
"""Steps a pass: a table that had little time has larger errors, not fewer rows."""
SAMPLING = {"discard_steps": 10_000, "sample_every": 100}
SEED = 20_260


def parts(total: int, count: int, rng: np.random.Generator) -> list[int]:
    """Cut `total` beads into `count` blocks."""
    cuts = np.sort(rng.choice(np.arange(1, total), count - 1, replace=False))
    return [int(part) for part in np.diff([0, *cuts, total])]


def block_sequence(first: str, count: int, a: int, b: int, rng: np.random.Generator) -> str:
    """Draw a sequence of `count` blocks that begins with `first`."""
    other = "B" if first == "A" else "A"
    beads = {"A": a, "B": b}
    lengths = {first: parts(beads[first], (count + 1) // 2, rng), other: parts(beads[other], count // 2, rng)}
    return "".join((first, other)[n % 2] * lengths[(first, other)[n % 2]][n // 2] for n in range(count))


def structured(length: int, count_b: int, count: int) -> list[str]:
    """All of two and three blocks, periodic ones, and random ones of four to seven blocks."""
    rng, a = np.random.default_rng(SEED), length - count_b
    found = [expand(f"A{a}B{count_b}")]
    found += [expand(f"A{i}B{count_b}A{a - i}") for i in range(1, a // 2 + 1)]
    found += [expand(f"B{i}A{a}B{count_b - i}") for i in range(1, count_b // 2 + 1)]
    found += [("A" * n + "B" * n) * (a // n) for n in range(1, a) if a % n == 0]
    unique = dict.fromkeys(forward(sequence) for sequence in found)
    while len(unique) < count:
        number = int(rng.choice([4, 4, 5, 5, 5, 6, 7]))
        unique.setdefault(forward(block_sequence(str(rng.choice(["A", "B"])), number, a, count_b, rng)))
    return list(unique)


def rows(chain: str) -> list[tuple[str, str]]:
    """Sequences with their family, five or so random ones to one that is structured."""
    about = CHAINS[chain]
    given = structured(about["length"], about["count_b"], about["structured"])
    drawn = random_sequences(about["length"], about["count_b"], about["random"], np.random.default_rng(SEED + 1), given)
    every = len(drawn) // len(given) + 1
    mixed: list[tuple[str, str]] = []
    while given or drawn:
        mixed += [(given.pop(0), "structured")] if given else []
        mixed += [(drawn.pop(0), "random") for _ in range(min(every, len(drawn)))]
    return mixed


def measure(sequence: str, chain: str, seed: int, steps: int = STEPS) -> dict[str, object]:
    """Evaluate `sequence` once."""
    lengths = {**SAMPLING, "steps": steps}
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        ctx = StepContext("evaluate", {}, lengths, {}, work, work, seed, Cores(accelerator="opt"))
        found, _ = evaluate(ctx, sequence, CHAINS[chain]["model"])
    return {"sequence": sequence, **found, "steps": steps, "seed": seed}


def read(chain: str) -> list[dict[str, str]]:
    """Return the rows that are there."""
    path = DATA / f"sequences_{chain}.csv"
    return list(csv.DictReader(path.open())) if path.exists() else []


def missing(chain: str, number: int) -> list[tuple[str, str]]:
    """Return what pass `number` has not evaluated. The first takes all rows, later ones the largest values so far."""
    there = read(chain)
    done = {row["sequence"] for row in there if int(row["pass"]) == number}
    if number == 0:
        return [row for row in rows(chain) if row[0] not in done]
    values, family = defaultdict(list), {}
    for row in there:
        if int(row["pass"]) < number:
            values[row["sequence"]].append(float(row["radius_of_gyration"]))
            family[row["sequence"]] = row["family"]
    largest = sorted(values, key=lambda one: -np.mean(values[one]))[: CHAINS[chain]["again"]]
    return [(one, family[one]) for one in largest if one not in done]


def run_pass(chain: str, number: int) -> None:
    """Add the rows that pass `number` lacks, each as soon as it is there."""
    path = DATA / f"sequences_{chain}.csv"
    new = not path.exists()
    with path.open("a", newline="") as stream:
        table = csv.DictWriter(stream, COLUMNS, extrasaction="ignore", lineterminator="\n")
        if new:
            table.writeheader()
        order = {sequence: place for place, (sequence, _) in enumerate(rows(chain))}
        for sequence, family in missing(chain, number):
            begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            seed = SEED + 10 + 1000 * number + order[sequence]
            try:
                row = {"family": family, "pass": number, **measure(sequence, chain, seed)}
            except EngineFailure as failure:  # a series that happens to look too slow for an error of its own
                print(f"{chain} {number} {failure.reason}", flush=True)
                row = {"family": family, "pass": number, **measure(sequence, chain, seed + 500_000, 2 * STEPS)}
            row["cpu_s"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun
            table.writerow(row | {key: f"{value:.6g}" for key, value in row.items() if isinstance(value, float)})
            stream.flush()


def main() -> None:
    """Add the rows that passes lack, until all chains have `passes`."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--passes", type=int, default=4)
    DATA.mkdir(exist_ok=True)
    for number in range(given.parse_args().passes):
        for chain in CHAINS:
            run_pass(chain, number)


if __name__ == "__main__":
    main()
