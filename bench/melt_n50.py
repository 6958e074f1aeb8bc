"""Shear viscosity of the melt of 50 beads at finite rates, a lower bound of the one at rest, through its campaign.

Two replicas of bench/melt_n50.campaign.yaml are built, equilibrated and sheared at the three upper rates; the lowest
rate, and Green-Kubo, would take days here. The whole plan is dry-run and costed as well.

    python bench/melt_n50.py --keep melt-50
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from kills import campaign
from record import record

RATES, REPLICAS = ("0.002", "0.005", "0.01"), 2


def costs(folder: Path, spec: str, key: Path) -> dict[str, object]:
    """Steps and core-hours of the whole plan, as its signed envelope and its listing have them."""
    root = campaign(folder, spec, key)
    signed = json.loads(json.loads((root / "approvals" / "gate.json").read_text())["record"])
    listing = root / "approvals" / "plans" / f"{signed['steps']}.steps"
    return {"steps": len(listing.read_text().splitlines()), "envelope": signed["envelope"]}


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
    root = campaign(base / "two", re.sub(r"replicas: \d+", f"replicas: {REPLICAS}", spec), key)
    targets = [f"results/shear/{rate}/{replica}/outcome.json" for rate in RATES for replica in range(REPLICAS)]
    command = ["snakemake", "--cores", "2", "--nolock", "--rerun-incomplete", "--logger", "sophron", "--quiet", "rules"]
    subprocess.run([*command, *targets], cwd=root, check=True)
    measured = {}
    for rate in RATES:
        steps = [json.loads((root / target).read_text())["result"] for target in targets if f"/{rate}/" in target]
        measured[rate] = steps
        print(rate, steps)
    record("melt_n50", {"plan": whole, "replicas": REPLICAS, "shear": measured})
    return 0


if __name__ == "__main__":
    sys.exit(main())
