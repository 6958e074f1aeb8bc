"""Kill `sophron approve` at random moments, first approvals and amendments, and see that the next call sets it right.

What must hold: after the kill the campaign is either as it was or signed, never in between for longer than the next
call; what the amendment invalidates lies in invalidated/v1 with its old bytes; the campaign finishes as version 2.

    python bench/kills_signing.py --kills 10
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

from kills import SNAKEFILE, finish, outputs, sophron
from record import record

AMENDMENT = ["amend", "--set", "stages.produce.definition.steps=30000", "--set", "stages.produce.criteria=[]"]


def killed_approve(folder: Path, key: Path, moment: float) -> bool:
    """Start `sophron approve` and kill it after `moment` seconds; whether it was still running then."""
    digest = sophron("review", "--digest", "--no-probes", cwd=folder).strip()
    command = ["sophron", "approve", "--key", str(key), "--digest", digest]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(moment)
    running = process.poll() is None
    if running:
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return running


def version(folder: Path) -> int:
    """The version in force; 0 where nothing is."""
    gate = folder / "approvals" / "gate.json"
    return json.loads(json.loads(gate.read_text())["record"])["version"] if gate.is_file() else 0


def approve(folder: Path, key: Path) -> None:
    """Sign what is there."""
    digest = sophron("review", "--digest", "--no-probes", cwd=folder).strip()
    sophron("approve", "--key", str(key), "--digest", digest, cwd=folder)


def one(base: Path, template: Path, key: Path, moment: float) -> dict[str, object]:
    """Amend a finished campaign, kill the approval, go on; what went wrong."""
    folder, faults = base / "run", []
    shutil.copytree(template, folder, symlinks=True)
    before = outputs(folder)
    sophron(*AMENDMENT, "--rationale", "shorter", cwd=folder)
    running = killed_approve(folder, key, moment)
    code, text = finish(folder)
    if code:
        faults.append(f"the next call failed: {text[-300:]}")
    after_kill = version(folder)
    if after_kill == 1:
        if outputs(folder) != before:
            faults.append("version 1 is in force but its outputs changed")
        approve(folder, key)
        code, text = finish(folder)
    if code or version(folder) != 2:
        faults.append(f"version 2 did not finish: {text[-300:]}")
    for path, data in before.items():
        if path.split("/")[1] in ("produce", "green_kubo"):
            kept = folder / "invalidated" / "v1" / path
            if not kept.is_file() or kept.read_bytes() != data:
                faults.append(f"{path} was not kept")
        elif (folder / path).read_bytes() != data:
            faults.append(f"{path} changed although nothing touched it")
    shutil.rmtree(folder)
    return {"moment_s": round(moment, 3), "was_running": running, "version_after_kill": after_kill, "faults": faults}


def main() -> int:
    """Run all and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=2)
    args = parser.parse_args()
    chance, base = random.Random(args.seed), Path(tempfile.mkdtemp(prefix="sophron-signing-"))
    os.environ["XDG_CONFIG_HOME"] = str(base / "config")
    key = base / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    # Every run is a copy put at the same path, so that the user's configuration knows it.
    template, place = base / "template", base / "run"
    place.mkdir()
    (place / "campaign.yaml").write_text((Path(__file__).parent / "kills.campaign.yaml").read_text())
    (place / "Snakefile").write_text(SNAKEFILE)
    first = killed_approve(place, key, chance.uniform(0.2, 2.0))
    if version(place) == 0:
        approve(place, key)
    code, text = finish(place)
    if code:
        print(text)
        return 1
    config = base / "config"
    shutil.copytree(config, base / "config-template")
    place.rename(template)
    shutil.copytree(template, place, symlinks=True)
    sophron(*AMENDMENT, "--rationale", "shorter", cwd=place)
    digest = sophron("review", "--digest", "--no-probes", cwd=place).strip()
    begun = time.monotonic()
    sophron("approve", "--key", str(key), "--digest", digest, cwd=place)
    length = time.monotonic() - begun
    shutil.rmtree(place)
    runs = []
    for number in range(args.kills):
        shutil.rmtree(config)
        shutil.copytree(base / "config-template", config)
        # Most of approve is the dry run; the writing is at its end, so half of the kills fall there.
        moment = chance.uniform(0.1, length) if number % 2 else chance.uniform(0.8 * length, 1.05 * length)
        runs.append(one(base, template, key, moment))
        print(f"{number + 1}/{args.kills} {runs[-1]}", flush=True)
    faulty = sum(bool(run["faults"]) for run in runs)
    record(
        "kills_signing", {"first_approval_killed": first, "approve_s": round(length, 2), "runs": runs, "faulty": faulty}
    )
    shutil.rmtree(base)
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
