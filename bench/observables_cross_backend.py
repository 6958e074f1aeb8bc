"""Compare viscosity, diffusion and thermal conductivity of Lennard-Jones liquids between ways to execute.

    python bench/observables_cross_backend.py run WORK local slurm parsl dpdispatcher
    python bench/observables_cross_backend.py record WORK

Each way has its own seeds, so that values are independent. Replicas are equilibrated here; production, where the time
goes, runs through the executor of `profiles/WAY`, as jobs of observables_cross_backend.smk; the analysis here again.
Stages are those of the kinds. Where a run was executed, it writes down itself, as every try of a campaign does. A test
of homogeneity with its power says whether the values agree. The queue is a private Slurm
(`tests/queues/private_slurm.py start FOLDER`); pilot and DPDispatcher use it too.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from record import record

from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.records import process_identity
from sophron.records.files import resource, write_json
from sophron.science.estimators.statistical_power import detectable_shift, power
from sophron.science.estimators.statistics import homogeneity, pooled_mean

HERE = Path(__file__)
SIGNIFICANCE, SHIFT = 0.01, 0.2
"""Of the test, and the shift of one value, relative to their mean, whose chance to be found is stated."""
REPLICAS = 10
QUICK = ("--seconds-between-status-checks", "2", "--latency-wait", "30")
WAYS: Mapping[str, tuple[str, ...]] = {
    "local": ("--cores", "4"),
    "slurm": ("--slurm-init-seconds-before-status-checks", "4"),
    "parsl": (*QUICK, "--parsl-provider", "slurm", "--parsl-cores", "2", "--parsl-memory-mb", "3000",
              "--parsl-walltime-min", "60", "--parsl-address", "127.0.0.1"),
    "dpdispatcher": (*QUICK, "--dpdispatcher-batch-type", "Slurm"),
}  # fmt: skip
HOT, EDGE = 1.5, (4 / 0.8442) ** (1 / 3)
BEFORE: Mapping[str, Sequence[tuple[str, dict[str, Any]]]] = {
    "viscosity": [
        ("build", {"atoms": 256, "chain_length": 1, "density": 0.8442,
                   "model": {"pair": "lj", "cutoff": 2.5, "shift": True}}),
        ("relax", {"temperature": 2.0, "timestep": 0.005, "steps": 2000}),
        ("equilibrate", {"temperature": 0.722, "timestep": 0.006, "damping": 0.5, "discard_steps": 1000,
                         "steps": 10000, "settle_steps": 1000}),
    ],
    "conductivity": [
        ("build", {"units": "lj", "lattice": {"style": "fcc", "constant": EDGE}, "cells": [4, 4, 4],
                   "species": [{"element": "Ar", "mass": 1.0}], "pair_style": "lj/cut", "cutoff": 2.5}),
        ("equilibrate", {"temperature": HOT, "timestep": 0.004, "damping": 0.5, "discard_steps": 3000,
                         "steps": 6000, "settle_steps": 1000, "sample_every": 10}),
    ],
}  # fmt: skip
"""Kind -> stages before production, with their definitions. The conductivity is that of a hot liquid, whose heat flux
forgets itself within a few tau."""
PRODUCTION: Mapping[str, tuple[str, dict[str, Any]]] = {
    "viscosity": ("produce", {"timestep": 0.006, "steps": 40000, "sample_every": 5, "thermo_every": 50,
                              "restart_every": 20000, "frame_every": 50}),
    "conductivity": ("green_kubo_flux", {"timestep": 0.004, "steps": 40000, "sample_every": 5,
                                         "restart_every": 20000, "heat_flux": {"compute": "stress/atom"}}),
}  # fmt: skip
OBSERVABLES = {
    "viscosity": ("viscosity", "green_kubo", "viscosity"),
    "diffusion coefficient": ("viscosity", "diffusion", "diffusion"),
    "thermal conductivity": ("conductivity", "green_kubo", "conductivity"),
}
"""Observable -> its kind, stage and field of the result."""
ANALYSIS = {
    ("viscosity", "green_kubo"): {"replicas": REPLICAS, "max_lag_tau": 10.0},
    ("viscosity", "diffusion"): {"from_tau": 2.0, "to_tau": 20.0},
    ("conductivity", "green_kubo"): {"replicas": REPLICAS, "max_lag": 10.0},
}


def stage(
    folder: Path,
    kind: str,
    name: str,
    definition: dict[str, Any],
    upstream: Sequence[UpstreamStep],
    *,
    seed: int,
    replica: str,
) -> UpstreamStep:
    """Run one stage function of a kind in a folder, or take what it left there."""
    done = folder / "done.json"
    if not done.exists():
        for one in ("work", "log"):
            (folder / one).mkdir(parents=True, exist_ok=True)
        before: dict[str, list[UpstreamStep]] = {}
        for step in upstream:
            before.setdefault(step.stage, []).append(step)
        at = {"replica": replica} if replica else {}
        context = StepContext(name, at, definition, before, folder / "work", folder / "log", seed, runtime_min=60)
        result = import_module(f"sophron.science.{kind}.{name}").run(context)
        files = {key: str(path) for key, path in result.files.items()}
        write_json(done, {"stage": name, "wildcards": at, "result": dict(result.result), "files": files})
    return finished(done)


def finished(path: Path) -> UpstreamStep:
    """Return a step from what it left."""
    kept = json.loads(path.read_text())
    files = {key: Path(one) for key, one in kept["files"].items()}
    return UpstreamStep(kept["stage"], kept["wildcards"], kept["result"], files)


def equilibrated(folder: Path, kind: str, seed: int, replica: str) -> UpstreamStep:
    """Run the stages before production."""
    steps: list[UpstreamStep] = []
    for number, (name, definition) in enumerate(BEFORE[kind]):
        steps = [stage(folder / name, kind, name, definition, steps, seed=seed + number, replica=replica)]
    return steps[0]


def produce(folder: Path) -> None:
    """Run one production, as a job; leave its result and where it ran."""
    given = json.loads((folder / "step.json").read_text())
    name, definition = PRODUCTION[given["kind"]]
    begun = time.monotonic()
    upstream = [finished(Path(given["upstream"]))]
    stage(folder.absolute(), given["kind"], name, definition, upstream, seed=given["seed"], replica=given["replica"])
    write_json(folder / "out.json", {"placement": process_identity.placement(), "wall_s": time.monotonic() - begun})


def run(work: Path, way: str) -> None:
    """Equilibrate here, and let production run through the executor of this way."""
    root = work / way
    for kind in BEFORE:
        for replica in map(str, range(REPLICAS)):
            seed = 10000 * (1 + list(WAYS).index(way)) + 100 * int(replica) + len(kind)
            before = equilibrated(root / "before" / f"{kind}-{replica}", kind, seed, replica)
            step = root / "steps" / f"{kind}-{replica}"
            step.mkdir(parents=True, exist_ok=True)
            upstream = root / "before" / f"{kind}-{replica}" / before.stage / "done.json"
            about = {"kind": kind, "replica": replica, "seed": seed + 50, "upstream": str(upstream)}
            if not (step / "step.json").exists():
                write_json(step / "step.json", about)
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(HERE.with_suffix(".smk")),
        "--directory",
        str(root),
    ]
    command += ["--profile", str(resource("profiles", way)), *WAYS[way], "--nolock", "--rerun-incomplete"]
    subprocess.run([*command, "--config", f"bench={HERE.absolute()}"], check=True)


def analysed(work: Path, way: str) -> dict[str, Any]:
    """Return the results of all analysis stages of one way, and where its production ran."""
    root, found = work / way, {}
    for kind in BEFORE:
        upstream = [finished(path) for path in sorted((root / "steps").glob(f"{kind}-*/done.json"))]
        for (own, name), definition in ANALYSIS.items():
            if own == kind:
                done = stage(root / "after" / f"{kind}-{name}", kind, name, definition, upstream, seed=1, replica="")
                upstream = [*upstream, done]
                found[kind, name] = done.result
    ran = [json.loads(path.read_text())["placement"] for path in sorted((root / "steps").glob("*/out.json"))]
    keys = ("scheduler", "pilot", "dispatcher")
    return {"results": found, "ran": {key: sorted({str(one[key]) for one in ran}) for key in keys}}


def compare(found: Mapping[str, dict[str, Any]], observable: str) -> dict[str, Any]:
    """Test whether the values of all ways agree."""
    kind, name, key = OBSERVABLES[observable]
    rows = []
    for way, one in found.items():
        result = one["results"][kind, name]
        row = {"way": way, "value": result[key], "error": result[f"{key}_standard_error"]}
        row |= {"degrees_of_freedom": result["degrees_of_freedom"], "refusal": result["refusal"], **one["ran"]}
        rows.append(row)
    sound = [row for row in rows if row["value"] is not None]
    values, errors = [row["value"] for row in sound], [row["error"] for row in sound]
    freedoms = [row["degrees_of_freedom"] or float("inf") for row in sound]
    test, pooled = homogeneity(values, errors, freedoms), pooled_mean(values, errors, freedoms)
    return {
        "ways": rows,
        "compared": len(sound),
        "pooled": pooled.value,
        "pooled_error": pooled.error,
        "p_value": test.p_value,
        "agree": test.p_value >= SIGNIFICANCE,
        "power_at_shift": power(errors, SHIFT * pooled.value, SIGNIFICANCE, freedoms),
        "detectable_shift": detectable_shift(errors, SIGNIFICANCE, freedoms=freedoms) / pooled.value,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "record", "step"])
    parser.add_argument("work", type=Path)
    parser.add_argument("ways", nargs="*")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if args.what == "step":
        produce(args.work)
    elif args.what == "run":
        for way in args.ways:
            run(args.work.absolute(), way)
    else:
        found = {way: analysed(args.work.absolute(), way) for way in WAYS if (args.work / way).exists()}
        compared = {one: compare(found, one) for one in OBSERVABLES}
        print(json.dumps(compared, indent=1))
        record("observables_cross_backend", {"significance": SIGNIFICANCE, "shift": SHIFT, "observables": compared})


if __name__ == "__main__":
    main()
