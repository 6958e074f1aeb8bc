"""Kill a small viscosity campaign at random moments, call Snakemake again, and compare with an undisturbed run.

Each kill is `kill -9` on the driver's process or on one `lmp`, at a moment drawn by seed. What must hold: the next
call finishes; no step that had ended runs again; a step that ran whole has the same bytes as in the undisturbed
run; production that went on from a restart file has every sample once, and a temperature that agrees.

    python bench/kills.py --kills 30 --out bench/results/kills.json
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

from record import record

SNAKEFILE = """\
import sophron
from sophron.campaign.snakefile.onstart import begin

module sophron_workflow:
    snakefile: sophron.SNAKEFILE
    config: {"campaign": "."}

use rule * from sophron_workflow

onstart:
    begin(".")
"""
RUN = ["snakemake", "--cores", "2", "--nolock", "--rerun-incomplete", "--logger", "sophron", "--quiet", "all"]
TIMEOUT_S = 900


def sophron(*words: str, cwd: Path) -> str:
    """Run a verb; its standard output."""
    done = subprocess.run(["sophron", *words], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def campaign(folder: Path, spec: str, key: Path) -> Path:
    """A signed campaign."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "campaign.yaml").write_text(spec)
    (folder / "Snakefile").write_text(SNAKEFILE)
    digest = sophron("review", "--digest", "--no-probes", cwd=folder).strip()
    sophron("approve", "--key", str(key), "--digest", digest, cwd=folder)
    return folder


def finish(folder: Path, timeout_s: float = TIMEOUT_S) -> tuple[int, str]:
    """Run until Snakemake ends by itself; exit code and what it said."""
    done = subprocess.run(RUN, cwd=folder, capture_output=True, text=True, timeout=timeout_s, check=False)
    return done.returncode, done.stdout + done.stderr


def ended_steps(folder: Path) -> dict[str, int]:
    """Step -> number of its tries, for steps whose last try ended with an outcome."""
    found = {}
    for published in folder.glob("records/*/published.json"):
        found[published.parent.name] = len(list(published.parent.glob("[0-9]*")))
    return found


def lmp_of(driver: int) -> list[int]:
    """Process ids of all `lmp` below the driver."""
    children: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = entry.read_text()
        except OSError:
            continue
        pid, name = int(text.split(" ", 1)[0]), text[text.index("(") + 1 : text.rindex(")")]
        names[pid] = name
        children.setdefault(int(text[text.rindex(")") + 1 :].split()[1]), []).append(pid)
    below, queue = [], [driver]
    while queue:
        for child in children.get(queue.pop(), []):
            below.append(child)
            queue.append(child)
    return [pid for pid in below if names.get(pid, "").startswith("lmp")]


def kill_once(folder: Path, chance: random.Random, length_s: float) -> dict[str, object]:
    """Start the campaign, kill something at a random moment; what was killed and what had ended by then."""
    victim = chance.choice(["driver", "lmp"])
    moment = chance.uniform(1.0, length_s)
    driver = subprocess.Popen(RUN, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begun = time.monotonic()
    while time.monotonic() - begun < moment and driver.poll() is None:
        time.sleep(0.02)
    targets = [driver.pid] if victim == "driver" else lmp_of(driver.pid)
    while victim == "lmp" and not targets and driver.poll() is None:
        time.sleep(0.02)
        targets = lmp_of(driver.pid)
    hit = None
    if driver.poll() is None and targets:
        hit = chance.choice(targets)
        os.kill(hit, signal.SIGKILL)
    ended = ended_steps(folder)
    if victim == "driver" and hit:
        driver.wait()
    else:
        driver.wait(timeout=TIMEOUT_S)
    return {"victim": victim, "moment_s": round(moment, 2), "hit": hit is not None, "ended_before": ended}


def outputs(folder: Path) -> dict[str, bytes]:
    """Every data file and outcome below results/, by path."""
    wanted = (".npz", ".data", ".svg", "outcome.json")
    paths = [path for path in (folder / "results").rglob("*") if path.name.endswith(wanted)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def compare(folder: Path, reference: dict[str, bytes]) -> dict[str, object]:
    """Which outputs have other bytes than the undisturbed run's, and whether continued production is whole."""
    mine = outputs(folder)
    different = sorted(path for path in reference if mine.get(path) != reference[path])
    tries = {
        path.parent.name: len(list(path.parent.glob("[0-9]*"))) for path in folder.glob("records/*/published.json")
    }
    whole = []
    for path in sorted(reference):
        if path.startswith("results/produce/") and path.endswith("outcome.json"):
            ours, theirs = json.loads(mine[path])["result"], json.loads(reference[path])["result"]
            same_number = ours["samples"] == theirs["samples"] and ours["steps"] == theirs["steps"]
            error = (ours["temperature_error"] ** 2 + theirs["temperature_error"] ** 2) ** 0.5
            agree = abs(ours["temperature_mean"] - theirs["temperature_mean"]) < 5 * error
            whole.append(same_number and agree)
    return {
        "different": different,
        "tries": tries,
        "production_whole": all(whole),
        "missing": sorted(set(reference) - set(mine)),
    }


def judge(before: dict[str, int], after: dict[str, object]) -> list[str]:
    """What went wrong, if anything."""
    tries = after["tries"]
    faults = [f"{step} ran again" for step, count in before.items() if tries.get(step, 0) > count]
    retried = {step for step, count in tries.items() if count > 1}
    downstream = any(step.startswith("produce") for step in retried)
    for path in after["different"]:
        _, stage, *rest = path.split("/")
        continued = f"{stage}-{rest[0]}" in retried and stage == "produce"
        if not continued and not (downstream and stage == "green_kubo"):
            faults.append(f"{path} has other bytes although its step ran whole")
    if not after["production_whole"]:
        faults.append("continued production lost or repeated samples")
    return faults + [f"{path} is missing" for path in after["missing"]]


def main() -> int:
    """Run all kills and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spec", type=Path, default=Path(__file__).parent / "kills.campaign.yaml")
    parser.add_argument("--keep", type=Path, help="keep the campaigns here")
    args = parser.parse_args()
    chance, spec = random.Random(args.seed), args.spec.read_text()
    base = args.keep or Path(tempfile.mkdtemp(prefix="sophron-kills-"))
    os.environ["XDG_CONFIG_HOME"] = str(base / "config")
    key = base / "key"
    base.mkdir(exist_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    quiet = campaign(base / "undisturbed", spec, key)
    begun = time.monotonic()
    code, text = finish(quiet)
    length = time.monotonic() - begun
    if code:
        print(text)
        return 1
    reference, runs, payload = outputs(quiet), [], {"faulty": 0}
    hits = 0
    while hits < args.kills:
        folder = campaign(base / f"run-{len(runs)}", spec, key)
        run = kill_once(folder, chance, 0.9 * length)
        code, text = finish(folder)
        after = compare(folder, reference) if code == 0 else {}
        run["faults"] = judge(run.pop("ended_before"), after) if code == 0 else [f"did not finish: {text[-400:]}"]
        run["continued"] = [step for step, count in after.get("tries", {}).items() if count > 1]
        runs.append(run)
        hits += run["hit"]  # a victim that was no longer there is no kill
        print(f"{hits}/{args.kills} {run}", flush=True)
        if not args.keep and not run["faults"]:
            shutil.rmtree(folder)
        payload = {"undisturbed_s": round(length, 1), "seed": args.seed, "kills": hits, "runs": runs}
        payload["faulty"] = sum(bool(one["faults"]) for one in runs)
        record("kills", payload)  # after each run: a bench about kills may be killed
    return 1 if payload["faulty"] else 0


if __name__ == "__main__":
    sys.exit(main())
