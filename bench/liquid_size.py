"""Viscosity of the demo's liquid in larger boxes, with other seeds and longer cut-offs: what its interval leaves out.

About 15 core-hours; campaigns that have ended are not run again, so that it can be stopped and called again.

    python bench/liquid_size.py --keep liquid-sizes
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from kills import campaign
from record import record

from sophron.records.documents import load_yaml
from sophron.records.files import resource
from sophron.science.estimators.statistical_power import compare_two
from sophron.science.estimators.statistics import Estimated, homogeneity, pooled_mean

ATOMS, SEEDS, CUTOFF = (256, 500, 864), (8442, 8443, 8444, 8445, 8446), 2.5
LARGE, CUTOFFS = 1372, (2.5, 3.5, 5.5)
CORE_HOURS_AN_ATOM = 60 / 256
TIME_FACTOR = 12
"""Wall time allowed, over that of the demo: a box of 1,372 atoms with the longest cut-off has 57 times its pairs."""


def spec(atoms: int, cutoff: float, seed: int) -> str:
    """The demo's campaign of another size, cut-off and seed."""
    document = load_yaml(resource("campaigns", "lj-liquid-viscosity", "campaign.yaml")).data
    stages = document["stages"]
    document["seed"] = seed
    document["question"]["conditions"]["cutoff"] = cutoff
    stages["build"]["definition"]["atoms"] = atoms
    stages["build"]["definition"]["model"]["cutoff"] = cutoff
    for stage in stages.values():
        for times in (stage["mechanical"], stage["mechanical"]["ceilings"]):
            times["runtime_min"] *= TIME_FACTOR
    document["limits"]["core_hours"] = round(CORE_HOURS_AN_ATOM * atoms * TIME_FACTOR)
    return yaml.safe_dump(document, sort_keys=False)


def measured(base: Path, atoms: int, cutoff: float, seed: int) -> dict[str, Any]:
    """Result of green_kubo of one campaign, run unless it has one; its verdicts are not asked for."""
    root = base / f"{atoms}-{cutoff:g}-{seed}"
    outcome = root / "results" / "green_kubo" / "outcome.json"
    if not root.exists():
        campaign(root, spec(atoms, cutoff, seed), base / "key")
    if not outcome.exists():
        command = ["snakemake", "--cores", "2", "--nolock", "--rerun-incomplete", "--logger", "sophron", "--quiet"]
        subprocess.run([*command, "rules", "--", "results/green_kubo/outcome.json"], cwd=root, check=True)
    names = ("viscosity", "viscosity_standard_error", "degrees_of_freedom", "interval_low", "interval_high")
    result = json.loads(outcome.read_text())["result"]
    return {"atoms": atoms, "cutoff": cutoff, "seed": seed, **{name: result[name] for name in (*names, "refusal")}}


def pooled(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean over the seeds of a size that gave a value, and whether they scatter as their errors say."""
    given = [row for row in rows if row["refusal"] is None]
    names = ("viscosity", "viscosity_standard_error", "degrees_of_freedom")
    values, errors, freedoms = ([row[name] for row in given] for name in names)
    mean, test = pooled_mean(values, errors, freedoms), homogeneity(values, errors, freedoms)
    return {**asdict(mean), "seeds": len(given), "p_value": test.p_value}


def in_large_boxes(sizes: dict[int, dict[str, Any]]) -> dict[str, float]:
    """Straight line in 1/atoms through the means of all sizes, at 1/atoms = 0."""
    inverse = 1 / np.array([*sizes], dtype=float)
    value, error = (np.array([one[name] for one in sizes.values()]) for name in ("value", "error"))
    (slope, intercept), covariance = np.polyfit(inverse, value, 1, w=1 / error, cov="unscaled")
    return {"viscosity": float(intercept), "error": float(covariance[1, 1] ** 0.5), "slope": float(slope)}


def main() -> int:
    """Run what is missing, and record all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, required=True, help="folder for the campaigns")
    args = parser.parse_args()
    base = args.keep.absolute()
    base.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_CONFIG_HOME"] = str(base / "config")
    if not (base / "key").exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / "key")], check=True)
    rows = {atoms: [measured(base, atoms, CUTOFF, seed) for seed in SEEDS] for atoms in ATOMS}
    cut = [measured(base, LARGE, cutoff, SEEDS[0]) for cutoff in CUTOFFS]
    sizes = {atoms: pooled(found) for atoms, found in rows.items()}
    smallest, largest = (Estimated(*(one[key] for key in ("value", "error", "degrees_of_freedom")))
                         for one in (sizes[ATOMS[0]], sizes[ATOMS[-1]]))  # fmt: skip
    payload = {
        "runs": [row for found in rows.values() for row in found],
        "sizes": sizes,
        "smallest_and_largest": asdict(compare_two(smallest, largest)),
        "in_large_boxes": in_large_boxes(sizes),
        "cutoffs": cut,
    }
    print(json.dumps(payload, indent=2))
    record("liquid_size", payload)
    return 0


if __name__ == "__main__":
    sys.exit(main())
