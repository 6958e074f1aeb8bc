"""What a step pays for the campaign's state: one event appended and projected, behind 100 to 10,000 finished steps.

Run as: python bench/projector.py --rounds 100
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from record import record

from sophron.campaign.state import projector
from sophron.records import events, process_identity

MOST_MS = 15
STAGE = {"id": "produce", "depends_on": [], "parameters": {"steps": 1000}, "success_criteria": []}


def fields(number: int) -> dict[str, object]:
    """What both events of a step say."""
    return {"step": f"produce-{number}", "stage": "produce", "wildcards": {"replica": str(number)}}


def start(root: Path, number: int, attempt: int) -> None:
    """Append the event of a step that starts."""
    me = {
        "pid": os.getpid(),
        "pid_start": process_identity.start_of(os.getpid()),
        "host": process_identity.host(),
        "try": attempt,
    }
    log = f"records/produce-{number}/{attempt}"
    events.append(root, "sophron", "step_started", **fields(number), **me, rule="produce", log=log, digest="d" * 64)


def end(root: Path, number: int) -> None:
    """Append the event of a step that ends."""
    events.append(root, "sophron", "step_ended", **fields(number), status="done", reason=None)


def campaign(root: Path, steps: int) -> float:
    """A campaign with that many finished steps; seconds of the projection from nothing."""
    stages = [{**STAGE, "steps": steps}]
    about = {"workflow_id": "bench", "version": 1, "digest": "a" * 64}
    events.append(
        root, "sophron", "spec_loaded", **about, stages=stages, experiment_design="e.md", workflow_plan="w.md"
    )
    for number in range(steps):
        start(root, number, 1)
        end(root, number)
    begun = time.perf_counter()
    projector.project(root)
    return time.perf_counter() - begun


def summary(times: list[float]) -> dict[str, float]:
    """Median and nine-tenths, in milliseconds."""
    return {"median_ms": round(1000 * median(times), 2), "p90_ms": round(1000 * quantiles(times, n=10)[-1], 2)}


def measure(steps: int, rounds: int) -> dict[str, object]:
    """One size of campaign."""
    appended, projected, cpu_s = [], [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        rebuild_s = campaign(root, steps)
        for number in range(rounds):
            begun = time.perf_counter()
            start(root, number % steps, 2) if number % 2 == 0 else end(root, (number - 1) % steps)
            middle, cpu = time.perf_counter(), time.process_time()
            projector.project(root)
            cpu_s += time.process_time() - cpu
            appended.append(middle - begun)
            projected.append(time.perf_counter() - middle)
        size = (root / projector.NAME).stat().st_size
    return {
        "steps": steps,
        "append": summary(appended),
        "project": {**summary(projected), "cpu_ms": round(1000 * cpu_s / rounds, 2)},
        "from_nothing_s": round(rebuild_s, 3),
        "state_bytes": size,
    }


def import_ms(rounds: int) -> float:
    """What importing the projector adds to a Python that has json, in CPU milliseconds."""

    def cpu(code: str) -> float:
        before = sum(os.times()[2:4])
        for _ in range(rounds):
            subprocess.run([sys.executable, "-c", code], check=True)
        return 1000 * (sum(os.times()[2:4]) - before) / rounds

    return round(cpu("import json, pathlib, sophron.campaign.state.projector") - cpu("import json, pathlib"), 1)


def main() -> int:
    """Measure, write the record; 1 where the largest campaign costs over MOST_MS."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    args = parser.parse_args()
    sizes = [measure(steps, args.rounds) for steps in (100, 1000, 10_000)]
    worst = sizes[-1]["append"]["median_ms"] + sizes[-1]["project"]["median_ms"]
    result = {"rounds": args.rounds, "sizes": sizes, "import_cpu_ms": import_ms(20), "target_ms": MOST_MS}
    record("projector", result)
    return int(worst > MOST_MS)


if __name__ == "__main__":
    sys.exit(main())
