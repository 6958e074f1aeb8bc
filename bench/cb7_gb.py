"""CB7's training guests by attach-pull-release in OBC2: which guards are met, and what is refused and why.

    python bench/cb7_gb.py DATA WORK [--guest CODE]... [--ns NS] [--windows N] [--seed N]

DATA: the folder with `sampl4_cb7`; WORK: kept between calls, so that a stopped bench goes on where it was, within a
window too; NS: sampling of a window, both directions together; where the guards want more samples, that much is added,
up to 4 ns. Eight neighbouring windows swap configurations, as four do in the pipeline `replica_exchange`: in the portal
a window by itself stays in the state that it began in for longer than it runs. The free energies in OBC2 test the
machinery; they are never compared with experiment, and no prediction is printed.
"""

import argparse
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from record import record

from sophron.records import documents
from sophron.records.files import write_json
from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.host_guest.preparation.complex_builder import build, read_task
from sophron.science.host_guest.protocols import analysis, apr_setup, seeding
from sophron.science.host_guest.sampling import equilibration, replica_exchange_block, samples, window_sampling
from sophron.science.host_guest.systems import data, tasks

NAME = "sampl4-cb7"
SEED = 2014
MOST_NS = 4.0
"""Of a window; the campaign sampl4-cb7-bench signs 1."""
TOGETHER = 8
"""Windows that swap configurations."""
MORE_HELPS = (Reason.FEW_SAMPLES, Reason.HYSTERESIS, Reason.BLOCKS_DIFFER)


def prepared(found: data.Benchmark, code: str, folder: Path, args: argparse.Namespace) -> apr_setup.Experiment:
    """Built, relaxed and seeded once."""
    if (folder / "experiment" / "starts.npz").is_file():
        return apr_setup.Experiment.load(folder / "experiment")
    inputs = folder / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    tasks.write(found, found.guests.index(code), args.data, inputs, "obc2")
    task = read_task(inputs)
    built = build(inputs, folder / "built")
    begun, _ = equilibration.minimise(built, equilibration.start(built), "CPU")
    bath = equilibration.Bath(task["temperature_k"], args.seed)
    relaxed = equilibration.equilibrate(built, begun, bath, max(2.0, 100 * args.ns), "CPU")
    locked = task["symmetry"]["locked_by_restraint"]
    made = apr_setup.prepare(built, relaxed, apr_setup.Protocol(), bath.temperature_k, locked=locked)
    engine = window_sampling.Engine(made, asked="CPU")
    seeded = seeding.seed_windows(engine, args.windows, seeding.Short.of(args.ns), args.seed)
    made = made.with_windows(seeded.windows)
    made.save(folder / "experiment")
    seeding.save(seeded, folder / "experiment" / "starts.npz")
    return made


def analysed(
    made: apr_setup.Experiment, folder: Path, ns: float, seed: int
) -> tuple[list[samples.Sampled], list[float], analysis.Binding | Refusal]:
    """Samples, nanoseconds of each window, and what the analysis says of them.

    Blocks with a window in which the guards want more samples run on by as much again, up to `MOST_NS`.
    """
    lengths = [ns] * len(made.windows)
    while True:
        sampled = produced(folder, lengths, seed)
        answer = analysis.binding(made, sampled, read_task(folder / "inputs"))
        if not isinstance(answer, Refusal) or answer.reason not in MORE_HELPS:
            return sampled, lengths, answer
        print(answer.sentence, flush=True)
        wanted = {place // TOGETHER for place in answer.windows}
        longer = [min(MOST_NS, was + ns * (place // TOGETHER in wanted)) for place, was in enumerate(lengths)]
        if longer == lengths:
            return sampled, lengths, answer
        lengths = longer


def produced(folder: Path, lengths: Sequence[float], seed: int) -> list[samples.Sampled]:
    """Samples of all windows from both starts; what was sampled before is read. lengths: ns of each window."""
    steps = range(-(-len(lengths) // TOGETHER))
    tasks_ = [
        (folder, replica_exchange_block.places(step, TOGETHER, len(lengths)), way, lengths[step * TOGETHER], seed)
        for step, way in product(steps, samples.WAYS)
    ]
    with ProcessPoolExecutor() as pool:
        return [each for block in pool.map(block_sampled, tasks_) for each in block]


def block_sampled(task: tuple[Path, range, samples.Way, float, int]) -> list[samples.Sampled]:
    """Samples of one block from one start of each of its windows."""
    folder, block, way, ns, seed = task
    engine = window_sampling.Engine(apr_setup.Experiment.load(folder / "experiment"), asked="CPU")
    starts = [seeding.load_start(folder / "experiment" / "starts.npz", way, place) for place in block]
    plan = window_sampling.Plan.of(ns / len(samples.WAYS), 100)
    own = seed + 2 * block[0] + samples.WAYS.index(way)
    where = folder / "blocks" / f"{block[0]}_{way}"
    ran = replica_exchange_block.run(engine, block, starts, plan, seed=own, folder=where)
    return [samples.Sampled(place, way, values) for place, values in zip(block, ran.values, strict=True)]


def one(found: data.Benchmark, code: str, args: argparse.Namespace) -> dict[str, Any]:
    """One guest: every guard's figure, or the reason of the refusal."""
    folder = args.work / code
    made = prepared(found, code, folder, args)
    sampled, lengths, answer = analysed(made, folder, args.ns, args.seed)
    row: dict[str, Any] = {
        "guest": code,
        "windows": len(made.windows),
        "windows_that_swap": TOGETHER,
        "ns_per_window": args.ns,
        "ns_of_longer_windows": {place: round(ns, 2) for place, ns in enumerate(lengths) if ns > args.ns},
        "least_neighbour_overlap": round(min(overlaps(made, sampled)), 3),
        "residual_force_kcal_per_mol_a": round(analysis.residual(made, sampled), 2),
    }
    if isinstance(answer, Refusal):
        return row | {"refused": answer.reason.value, "sentence": answer.sentence}
    measured = answer.estimate
    return row | {
        "guards": "met",
        "least_overlap": round(min(measured.overlaps), 3),
        "least_effective_samples": round(min(measured.effective_samples)),
        "block_difference_kcal_per_mol": round(measured.block_difference, 2),
        "hysteresis_kcal_per_mol": None if measured.hysteresis is None else round(measured.hysteresis, 2),
        "statistical_error_kcal_per_mol": round(answer.total.statistical, 2),
        "prediction": "none: implicit solvent",
    }


def overlaps(made: apr_setup.Experiment, sampled: list[samples.Sampled]) -> list[float]:
    """Of neighbours by themselves, from the forward samples."""
    return seeding.neighbour_overlaps(made, [each.values for each in sampled if each.seeded == "forward"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--guest", action="append")
    parser.add_argument("--ns", type=float, default=1.0)
    parser.add_argument("--windows", type=int, default=48)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    found = data.benchmark(NAME)
    codes = args.guest or [found.guests[index] for index in found.training]
    rows = []
    for code in codes:
        path = args.work / code / f"row_{args.ns:g}.json"
        if not path.is_file():
            wall, cpu = time.monotonic(), sum(os.times()[:4])
            row = one(found, code, args)
            row["wall_s"], row["cpu_s"] = round(time.monotonic() - wall), round(sum(os.times()[:4]) - cpu)
            write_json(path, row)
        rows.append(documents.load_json(path))
        print(rows[-1])
    record("cb7_gb", {"ns_per_window": args.ns, "solvent": "obc2, machinery only", "guests": rows})


if __name__ == "__main__":
    main()
