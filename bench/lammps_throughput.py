"""LAMMPS steps a second through the campaign against the same input run by bare `lmp`, alternating, on one core.

The campaign is tests/data's smoke campaign with a longer production; the step is called as its rule calls it, and
timed by LAMMPS itself (loop time) and from outside (the whole try, as the records have it).

    python bench/lammps_throughput.py --rounds 5
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from kills import campaign
from record import record

from sophron.science.lammps.executable import Lammps, find

LOOP = re.compile(r"^Loop time of (\S+) on .* for (\d+) steps", re.MULTILINE)


def loop_rate(log: Path) -> float:
    """Steps a second of the last run in a LAMMPS log."""
    seconds, steps = LOOP.findall(log.read_text())[-1]
    return int(steps) / float(seconds)


def run_step(folder: Path) -> tuple[float, float, Path]:
    """Run production as Snakemake does; loop rate, whole-try rate, and a copy of its input and data."""
    kept = folder / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    command = ["snakemake", "--cores", "1", "--nolock", "--rerun-incomplete", "--quiet", "all"]
    command += ["--forcerun", "produce", "--until", "produce"]
    shutil.rmtree(next((folder / "scratch").glob("*/produce-0"), kept), ignore_errors=True)
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    last = max((folder / "records" / "produce-0").glob("[0-9]*"), key=lambda path: int(path.name))
    note = json.loads((last / "try.json").read_text())
    log = next(path for path in last.rglob("*") if path.is_file() and LOOP.search(path.read_text(errors="replace")))
    steps = int(LOOP.findall(log.read_text())[-1][1])
    return loop_rate(log), steps / note["core_seconds"], last


def run_bare(lammps: Lammps, start: Path, text: str) -> tuple[float, float]:
    """Run the same input by `lmp` alone; loop rate and whole-process rate."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(start, folder / "start.data")
        (folder / "in.produce").write_text(text)
        begun = time.monotonic()
        command = [lammps.program, "-in", "in.produce", "-log", "log.lammps", "-screen", "none"]
        subprocess.run(command, cwd=folder, env={**os.environ, **lammps.environment}, check=True)
        elapsed = time.monotonic() - begun
        steps = int(LOOP.findall((folder / "log.lammps").read_text())[-1][1])
        return loop_rate(folder / "log.lammps"), steps / elapsed


def main() -> int:
    """Alternate, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=150000)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    base = Path(tempfile.mkdtemp(prefix="sophron-throughput-"))
    os.environ["XDG_CONFIG_HOME"] = str(base / "config")
    key = base / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    spec = (Path(__file__).parent / "kills.campaign.yaml").read_text()
    spec = re.sub(r"steps: \d+, sample_every", f"steps: {args.steps}, sample_every", spec)
    folder = campaign(base / "campaign", spec, key)
    rounds = []
    for _ in range(args.rounds):
        loop, whole, tried = run_step(folder)
        start, text = next(tried.rglob("in.produce")), ""
        text = start.read_text()
        data = folder / "results" / "equilibrate" / "0" / "system.data"
        bare_loop, bare_whole = run_bare(find(), data, text)
        rounds.append(
            {"campaign_loop": loop, "campaign_try": whole, "bare_loop": bare_loop, "bare_process": bare_whole}
        )
        print(rounds[-1], flush=True)
    ratios = {
        "loop": median(one["campaign_loop"] / one["bare_loop"] for one in rounds),
        "whole": median(one["campaign_try"] / one["bare_process"] for one in rounds),
    }
    record("lammps_throughput", {"steps": args.steps, "rounds": rounds, "median_ratio": ratios})
    shutil.rmtree(base)
    return 0 if ratios["loop"] >= 0.97 else 1


if __name__ == "__main__":
    sys.exit(main())
