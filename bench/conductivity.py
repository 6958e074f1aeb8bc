"""Conductivity of a Lennard-Jones crystal by both methods of the kind: Green-Kubo and Mueller-Plathe must agree.

For a pair potential the heat flux of `compute stress/atom` is right, so two independent methods measure one number.
They agree if Student's t does not reject that, and would have found a difference of 20 % in 80 % of cases.

    python bench/conductivity.py --steps 100000 --replicas 3
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from record import record

from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.science.estimators.finite_size import extrapolate
from sophron.science.estimators.statistical_power import Agreement, Comparison, compare_two
from sophron.science.estimators.statistics import Estimated, normal_error

BUILD = {
    "units": "lj",
    "lattice": {"style": "fcc", "constant": 1.6},
    "cells": [4, 4, 4],
    "species": [{"element": "Ar", "mass": 1.0}],
    "pair_style": "lj/cut",
    "cutoff": 2.5,
}
TIMES = {"timestep": 0.005, "damping": 0.5}
COPIES = (2, 3, 4, 6)


def run(
    folder: Path, stage: str, definition: dict[str, Any], upstream: Sequence[UpstreamStep], seed: int, **wildcards: str
) -> UpstreamStep:
    """Run one stage in a folder of its own."""
    place = folder / "-".join([stage, *wildcards.values()])
    for name in ("work", "log"):
        (place / name).mkdir(parents=True)
    before: dict[str, list[UpstreamStep]] = {}
    for one in upstream:
        before.setdefault(one.stage, []).append(one)
    context = StepContext(
        stage, wildcards, definition, before, place / "work", place / "log", seed, runtime_min=24 * 60
    )
    result = import_module(f"sophron.science.conductivity.{stage}").run(context)
    return UpstreamStep(stage, wildcards, result.result, result.files)


def measure(folder: Path, steps: int, replicas: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Results of green_kubo and of extrapolate."""
    fluxes, boxes = [], []
    equilibrate = {**TIMES, "temperature": 0.4, "discard_steps": 5000, "steps": 20_000, "settle_steps": 1000}
    flux = {"timestep": 0.005, "steps": steps, "sample_every": 5, "restart_every": steps}
    imposed = {"settle_steps": 2000, "discard_steps": 5000, "steps": steps // 10, "swap_every": 50, "slab_cells": 1}
    imposed |= {"sample_every": 10, "block_steps": 1000, "fit_share": 0.7, **TIMES}
    for replica in range(replicas):
        at = {"replica": str(replica)}
        built = run(folder, "build", BUILD, [], 1 + replica, **at)
        started = run(folder, "equilibrate", equilibrate | {"sample_every": 10}, [built], 101 + replica, **at)
        compute = {"heat_flux": {"compute": "stress/atom"}}
        fluxes.append(run(folder, "green_kubo_flux", flux | compute, [started], 201 + replica, **at))
        for copies in COPIES:
            seed = 301 + 100 * replica + copies
            boxes.append(run(folder, "mueller_plathe", imposed, [started], seed, copies=str(copies), **at))
    analysed = run(folder, "green_kubo", {"replicas": replicas, "max_lag": 20.0}, fluxes, 1)
    extrapolated = run(folder, "extrapolate", {"replicas": replicas}, boxes, 1)
    return dict(analysed.result), dict(extrapolated.result)


def judge(fluctuating: dict[str, Any], imposed: dict[str, Any]) -> dict[str, Any]:
    """Whether the two agree, by today's extrapolation of the boxes; each comparison with its power.

    The longest box is compared too: boxes approach the bulk from below, so Green-Kubo must not lie below it.
    """
    boxes = imposed["lengths"]
    errors = [normal_error(box["conductivity_error"], box["degrees_of_freedom"]) for box in boxes]
    bulk = extrapolate([box["length"] for box in boxes], [box["conductivity"] for box in boxes], errors)
    value, refusal = fluctuating["conductivity"], bulk.refusal or fluctuating["refusal"]
    found: dict[str, Any] = {"agreement": Agreement.CANNOT_TELL, "refusal": refusal}
    if value is None:
        return found
    green_kubo = Estimated(value, fluctuating["conductivity_standard_error"], fluctuating["degrees_of_freedom"])
    longest = Estimated(*(boxes[-1][key] for key in ("conductivity", "conductivity_error", "degrees_of_freedom")))
    line = Estimated(bulk.conductivity, bulk.standard_error, bulk.degrees_of_freedom)
    return {
        "agreement": Agreement.CANNOT_TELL if refusal else compare_two(green_kubo, line).agreement(),
        "refusal": refusal,
        "straight_line": comparison(compare_two(green_kubo, line)),
        "longest_box": comparison(compare_two(green_kubo, longest)),
    }


def comparison(test: Comparison) -> dict[str, Any]:
    """The test with its verdict."""
    return {**asdict(test), "agreement": test.agreement()}


def main() -> int:
    """Measure, compare, record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--replicas", type=int, default=3)
    args = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        fluctuating, imposed = measure(Path(folder), args.steps, args.replicas)
    found = {
        "steps": args.steps,
        "replicas": args.replicas,
        "green_kubo": fluctuating,
        "mueller_plathe": imposed,
        "comparison": judge(fluctuating, imposed),
        "wall_s": time.monotonic() - begun,
    }
    record("conductivity", found)
    print(json.dumps(found["comparison"], indent=2))
    return 0 if found["comparison"]["agreement"] == Agreement.AGREE else 1


if __name__ == "__main__":
    sys.exit(main())
