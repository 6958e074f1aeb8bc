"""Kill a trial loop at random moments, call Snakemake again, and compare with an undisturbed run.

Each kill is `kill -9` at a moment drawn by seed, by turns on the driver with all processes below it, windows too, as
when a machine dies, and on the driver alone; the next call of the same campaign is killed too, until it has had its
share of kills or is through. What must hold: the last call finishes; no window and no vote that had ended before a
kill is made again; the last result is the same.

    python bench/trial_kills.py --kills 20
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from kills import RUN, campaign, ended_steps, finish
from record import record

TIMEOUT_S = 3000.0
KILLS_OF_ONE = 5


def asked(root: Path) -> dict[str, int]:
    """Agent step -> how often its agent answered."""
    return {path.parent.name: len(path.read_text().splitlines()) for path in root.glob("records/*/audit.jsonl")}


def final(root: Path) -> object:
    """What the loop came to."""
    return json.loads((root / "results" / "trials" / "outcome.json").read_text())["result"]


def kill_once(root: Path, moment: float, *, whole: bool) -> dict[str, object]:
    """Start the campaign, kill its driver at that moment, or all its processes (`whole`); what had ended by then."""
    driver = subprocess.Popen(RUN, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begun = time.monotonic()
    while time.monotonic() - begun < moment and driver.poll() is None:
        time.sleep(0.05)
    hit, below = driver.poll() is None, []
    if hit:
        # Snakemake's own processes and those of its steps, sandboxes and what runs in them.
        below = psutil.Process(driver.pid).children(recursive=True) if whole else []
        os.kill(driver.pid, signal.SIGKILL)
        for one in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
    driver.wait()
    psutil.wait_procs(below, timeout=30)
    return {
        "moment_s": round(moment, 2),
        "hit": hit,
        "processes": len(below) + 1,
        "steps": ended_steps(root),
        "votes": asked(root),
    }


def disturbed(root: Path, chance: random.Random, kills: int, longest_s: float, wanted: object) -> dict[str, object]:
    """One campaign, killed again and again, then left alone; its kills and what was wrong in the end."""
    runs = []
    while len(runs) < kills and (not runs or runs[-1]["hit"]):
        runs.append(kill_once(root, chance.uniform(1.0, longest_s), whole=len(runs) % 2 == 0))
    code, text = finish(root, TIMEOUT_S)
    faults = [] if code == 0 else [f"did not finish: {text[-400:]}"]
    after, answered = ended_steps(root), asked(root)
    for run in runs:
        steps, votes = run.pop("steps"), run.pop("votes")
        faults += [f"{step} ran again" for step, count in steps.items() if after.get(step, 0) > count]
        faults += [f"{step} was asked again" for step, count in votes.items() if answered.get(step, 0) > count]
        run |= {"ended_before": len(steps), "answered_before": len(votes)}
    if code == 0 and final(root) != wanted:
        faults.append("the loop came to another result")
    return {"kills": runs, "faults": sorted(set(faults))}


def main() -> int:
    """Run all kills and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    chance, spec = random.Random(args.seed), (Path(__file__).parent / "trials.campaign.yaml").read_text()
    base = Path(tempfile.mkdtemp(prefix="sophron-trial-kills-"))
    os.environ["XDG_CONFIG_HOME"], os.environ["XDG_STATE_HOME"] = str(base / "config"), str(base / "state")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / "key")], check=True)
    quiet = campaign(base / "undisturbed", spec, base / "key")
    begun = time.monotonic()
    code, text = finish(quiet, TIMEOUT_S)
    length = time.monotonic() - begun
    if code:
        print(text)
        return 1
    wanted, runs, kills = final(quiet), [], 0
    while kills < args.kills:
        root = campaign(base / f"run-{len(runs)}", spec, base / "key")
        share = min(KILLS_OF_ONE, args.kills - kills)
        run = disturbed(root, chance, share, 2 * length / KILLS_OF_ONE, wanted)
        runs.append(run)
        print(run, flush=True)
        if not run["faults"]:
            shutil.rmtree(root)
        kills = sum(one["hit"] for run in runs for one in run["kills"])
        faulty = sum(bool(run["faults"]) for run in runs)
        record(
            "trial_kills",
            {"undisturbed_s": round(length, 1), "seed": args.seed, "kills": kills, "runs": runs, "faulty": faulty},
        )
    return int(any(run["faults"] for run in runs))


if __name__ == "__main__":
    sys.exit(main())
