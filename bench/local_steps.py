"""Toy steps of campaigns on this machine, each a new Python and each a fork of the driver's warm process, in turn.

A campaign adds numbers; its steps compute nothing, so what is measured is Snakemake, Python's start, and what a step
checks and writes. CPU seconds are those of all processes; wall seconds stand beside them, with the load. Snakemake runs
with `profiles/local`, as a person's does: its default scheduler solves a linear program in a process of its own for
each choice of jobs, which grows with their number. What is left of the driver is Snakemake's: for each job a checksum
of its small inputs, the record of what it made, a thread that waits for the shell, and a timer.

    python bench/local_steps.py --rounds 4 --replicas 232
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from kills import campaign
from record import record

LOCAL = Path(__file__).parents[1] / "profiles" / "local"
TOY = Path(__file__).parents[1] / "tests" / "toy"
SPEC = Path(__file__).parents[1] / "tests" / "data" / "arithmetic" / "campaign.yaml"
WAYS = {"cold": {"SOPHRON_FORK_SERVER": "off"}, "forked": {}}
LEAST = 3.0


def one_run(signed: Path, folder: Path, way: str) -> dict[str, float]:
    """Run a copy of the campaign whole; CPU and wall seconds, and the steps that its jobs were."""
    shutil.copytree(signed, folder)
    before, begun = os.times(), time.perf_counter()
    run = ["snakemake", "--profile", str(LOCAL), "--cores", "2", "--quiet", "all"]
    subprocess.run(run, cwd=folder, env=os.environ | WAYS[way], check=True, capture_output=True)
    wall, after = time.perf_counter() - begun, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    shutil.rmtree(folder)
    return {"cpu_s": round(cpu, 2), "wall_s": round(wall, 1), "load": round(os.getloadavg()[0], 1)}


def main() -> int:
    """Measure and record; 1 if forked steps are not LEAST times faster."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--replicas", type=int, default=232, help="18 more steps are those of the other stages")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        os.environ["XDG_CONFIG_HOME"], os.environ["XDG_STATE_HOME"] = str(base / "config"), str(base / "state")
        os.environ["PYTHONPATH"] = str(TOY)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / "key")], check=True)
        spec = SPEC.read_text().replace("core_hours: 100", "core_hours: 10000")
        for relation in ("replicas: ", "replicas == "):
            spec = spec.replace(f"{relation}2", f"{relation}{args.replicas}")
        signed = campaign(base / "signed", spec, base / "key")
        runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
        for _ in range(args.rounds):
            for way in WAYS:
                runs[way].append(one_run(signed, base / "run", way))
                print(way, runs[way][-1], flush=True)
    ratios = {
        key: [round(cold[key] / forked[key], 2) for cold, forked in zip(*runs.values(), strict=True)]
        for key in ("cpu_s", "wall_s")
    }
    steps = args.replicas + 18
    payload = {"steps_a_run": steps, "steps": steps * args.rounds, "least": LEAST, "cold_over_forked": ratios, **runs}
    record("local_steps", payload)
    print(payload)
    return int(median(ratios["wall_s"]) < LEAST)


if __name__ == "__main__":
    sys.exit(main())
