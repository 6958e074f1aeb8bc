"""Shear viscosity of the melt of 50 beads at finite rates, a lower bound of the one at rest, through its campaign.

Two replicas of bench/melt_n50.campaign.yaml are built, equilibrated and sheared at the two upper rates; the lower ones,
and Green-Kubo, would take days here. Two are too few for an error bar over replicas, and the review says so: for this
run the campaign's own copies of those two pitfalls apply to nothing. The whole plan is dry-run and costed as it is.
Errors within a run do not cover stress that relaxes in about 1000 tau: what is quoted is the spread of the replicas.

    python bench/melt_n50.py --keep melt-50
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kills import campaign
from record import record

from sophron.records.documents import load_yaml
from sophron.records.files import resource
from sophron.science.estimators.statistics import LEAST_P_VALUE, homogeneity, t_interval

RATES, REPLICAS = ("0.005", "0.01"), 2
LEFT_OUT = ("too-few-replicas", "error-out-of-reach")


def costs(folder: Path, spec: str, key: Path) -> dict[str, object]:
    """Steps and core-hours of the whole plan, as its signed envelope and its listing have them."""
    root = campaign(folder, spec, key)
    signed = json.loads(json.loads((root / "approvals" / "gate.json").read_text())["record"])
    listing = root / "approvals" / "plans" / f"{signed['steps']}.steps"
    return {"steps": len(listing.read_text().splitlines()), "envelope": signed["envelope"]}


def leave_out(root: Path) -> None:
    """The campaign's own pitfalls of these names, which apply to nothing."""
    folder = root / "agents" / "pitfalls"
    folder.mkdir(parents=True)
    for name in LEFT_OUT:
        own = load_yaml(resource("workflow", "agents", "pitfalls", f"{name}.yaml")).data
        text = json.dumps(own | {"applies_to": {"kinds": ["none"]}}, indent=1)
        (folder / f"{name}.yaml").write_text(text)


def spread(runs: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Mean over the replicas of a rate, with the t interval of their spread, and how it compares with stated errors."""
    rows = {}
    for name in ("viscosity", "first_normal_stress_difference"):
        values, errors = ([run[key] for run in runs] for key in (name, f"{name}_error"))
        found = {
            **asdict(t_interval(values)),
            "runs_differ_p": None,
            "errors_within_runs": "none: the runs are too short",
        }
        if all(errors):
            test = homogeneity(values, errors)
            doubt = "unreliable: the replicas differ by more than they allow"
            found["runs_differ_p"] = test.p_value
            found["errors_within_runs"] = doubt if test.p_value < LEAST_P_VALUE else "not contradicted by the replicas"
        rows[name] = found
    return rows


def main() -> int:
    """Cost the plan, run what can be run, write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, required=True, help="folder for the campaigns")
    args = parser.parse_args()
    base = args.keep.absolute()
    base.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_CONFIG_HOME"] = str(base / "config")
    key = base / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    spec = (Path(__file__).parent / "melt_n50.campaign.yaml").read_text()
    whole = costs(base / "whole", spec, key)
    leave_out(base / "two")
    root = campaign(base / "two", re.sub(r"replicas: \d+", f"replicas: {REPLICAS}", spec), key)
    targets = [f"results/shear/{rate}/{replica}/outcome.json" for rate in RATES for replica in range(REPLICAS)]
    command = ["snakemake", "--cores", "2", "--nolock", "--rerun-incomplete", "--logger", "sophron", "--quiet", "rules"]
    subprocess.run([*command, "--", *targets], cwd=root, check=True)
    measured = {}
    for rate in RATES:
        steps = [json.loads((root / target).read_text())["result"] for target in targets if f"/{rate}/" in target]
        measured[rate] = steps
        print(rate, steps)
    spreads = {rate: spread(runs) for rate, runs in measured.items()}
    record("melt_n50", {"plan": whole, "replicas": REPLICAS, "shear": measured, "spread_of_replicas": spreads})
    return 0


if __name__ == "__main__":
    sys.exit(main())
