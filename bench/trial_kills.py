"""Kill a trial loop at random moments, call Snakemake again, and compare with an undisturbed run.

Each kill is `kill -9` on the driver's process, at a moment drawn by seed. What must hold: the next call finishes; no
window and no vote that had ended is made again; the last result is the same.

    python bench/trial_kills.py --kills 20
"""

import argparse
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

from kills import RUN, campaign, ended_steps, finish
from record import record

TIMEOUT_S = 3000.0


def asked(root: Path) -> dict[str, int]:
    """Agent step -> how often its agent answered."""
    return {path.parent.name: len(path.read_text().splitlines()) for path in root.glob("records/*/audit.jsonl")}


def final(root: Path) -> object:
    """What the loop came to."""
    return json.loads((root / "results" / "trials" / "outcome.json").read_text())["result"]


def kill_once(root: Path, chance: random.Random, length_s: float) -> dict[str, object]:
    """Start the campaign, kill its driver at a random moment; what had ended by then."""
    moment = chance.uniform(1.0, length_s)
    driver = subprocess.Popen(RUN, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begun = time.monotonic()
    while time.monotonic() - begun < moment and driver.poll() is None:
        time.sleep(0.05)
    hit = driver.poll() is None
    if hit:
        os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    return {"moment_s": round(moment, 2), "hit": hit, "steps": ended_steps(root), "votes": asked(root)}


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
    wanted, runs = final(quiet), []
    while sum(run["hit"] for run in runs) < args.kills:
        root = campaign(base / f"run-{len(runs)}", spec, base / "key")
        run = kill_once(root, chance, 0.9 * length)
        steps, votes = run.pop("steps"), run.pop("votes")
        code, text = finish(root, TIMEOUT_S)
        faults = [] if code == 0 else [f"did not finish: {text[-400:]}"]
        after, answered = ended_steps(root), asked(root)
        faults += [f"{step} ran again" for step, count in steps.items() if after.get(step, 0) > count]
        faults += [f"{step} was asked again" for step, count in votes.items() if answered.get(step, 0) > count]
        if code == 0 and final(root) != wanted:
            faults.append("the loop came to another result")
        run |= {"ended_before": len(steps), "answered_before": len(votes), "faults": faults}
        runs.append(run)
        print(run, flush=True)
        if not faults:
            shutil.rmtree(root)
        faulty = sum(bool(one["faults"]) for one in runs)
        kills = sum(one["hit"] for one in runs)
        record(
            "trial_kills",
            {"undisturbed_s": round(length, 1), "seed": args.seed, "kills": kills, "runs": runs, "faulty": faulty},
        )
    return int(any(run["faults"] for run in runs))


if __name__ == "__main__":
    sys.exit(main())
