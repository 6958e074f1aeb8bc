"""What one radius of gyration costs and gives in each way to execute: the shipped campaign, the ways taking turns.

    python bench/rg_cross_backend.py WAY... [--steps N]

WAY: `local`, `slurm`, `parsl`; Snakemake must find a profile of that name (`sophron profile install`), and its queue
must be there. The first way is the one that times are ratios to. N: measured steps of a run; without it, as shipped.
The wall time of each Snakemake call is kept too: it holds the wait in the queue, and Snakemake's own start.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from record import record

from sophron.campaign.approval import approve
from sophron.campaign.execution import campaign_lock
from sophron.campaign.spec import pitfalls
from sophron.records.files import resource

REPLICAS = "01"


def campaign(root: Path, ways: list[str], steps: int | None) -> None:
    """The shipped campaign with these ways, signed with a key made now."""
    shutil.copytree(resource("campaigns", "rg-cross-backend"), root)
    spec = yaml.safe_load((root / "campaign.yaml").read_text())
    names = [f"sample_{way}" for way in ways]
    for name in [name for name in spec["stages"] if name.startswith("sample_")]:
        if name not in names:
            del spec["stages"][name]
        elif steps:
            spec["stages"][name]["definition"]["steps"] = steps
            spec["stages"][name]["criteria"] = []
    spec["stages"]["compare"]["depends_on"] = names
    spec["stages"]["compare"]["criteria"] = []  # a bench reports, it does not judge
    for one in spec["method"]["assumptions"]:
        one["verified_by"] = "nobody: a bench measures times"
    (root / "campaign.yaml").write_text(yaml.safe_dump(spec, sort_keys=False))
    key = root.parent / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    with campaign_lock.signing(root):
        approve.sign(approve.propose(root, probe=pitfalls.probes_of(root)), key, "bench")


def call(root: Path, *arguments: str) -> float:
    """Seconds of one Snakemake call; it must end well."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "snakemake", "--rerun-incomplete", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-4000:])
    return time.monotonic() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ways", nargs="+")
    parser.add_argument("--steps", type=int)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("XDG_CONFIG_HOME", str(Path(folder) / "config"))
        root = Path(folder) / "rg"
        campaign(root, args.ways, args.steps)
        call(root, "--profile", "local", "--until", "equilibrate", "--cores", "2")
        calls: dict[str, list[float]] = {way: [] for way in args.ways}
        for replica in REPLICAS:
            for way in args.ways:
                single = ["--cores", "1"] if way == "local" else []
                target = f"results/sample_{way}/{replica}/outcome.json"
                calls[way].append(round(call(root, "--profile", way, *single, target), 1))
        call(root, "--profile", "local", "--cores", "2")
        result = json.loads((root / "results" / "compare" / "outcome.json").read_text())["result"]
    record("rg_cross_backend", {"steps": args.steps or "as shipped", "snakemake_call_s": calls, "compare": result})


if __name__ == "__main__":
    main()
