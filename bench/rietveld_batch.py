"""A batch of patterns as a campaign, against the engine alone: wall and CPU seconds, and their ratio.

An agent refines the fluorapatite pattern that comes with rietx; Poisson draws from it (seed in the result) follow as a
series. The engine alone does the same cycles, with one process a worker, started once. The bound of 1.15 holds for the
batch, from its first step to its last, on an otherwise idle machine. `whole` is the campaign from `snakemake` to its
report, agent and recomputation of the lead included, against the engine's time for all of it shared by the workers.

python bench/rietveld_batch.py --patterns 100 --workers 2
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import yaml
from record import record

from sophron.campaign.approval import approve
from sophron.campaign.execution import campaign_lock
from sophron.campaign.spec import pitfalls
from sophron.interfaces.rietveld import Background, Freed, Request, Setup
from sophron.records.files import resource
from sophron.science.rietveld import pattern as patterns
from sophron.science.rietveld.data import Source, packaged
from sophron.science.rietveld.rietx_engine import Rietx
from sophron.science.rietveld.series import FIRST
from sophron.science.rietveld.session import model_files
from sophron.science.rietveld.session import sample as samples

BOUND = 1.15
SEED = 20261122
LIMIT_S = 600.0
MECHANICAL = {
    "ranks": 1,
    "threads": 1,
    "accelerator": "none",
    "memory_mb": 1000,
    "runtime_min": 60,
    "retries": 1,
    "choices": {},
    "ceilings": {"cores": 1, "memory_mb": 4000, "runtime_min": 120},
}


def cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def make(root: Path, count: int) -> None:
    """The shipped campaign with a series of `count` patterns."""
    shutil.copytree(resource("campaigns", "rietveld-fluorapatite"), root)
    engine = Rietx()
    pattern = patterns.read(packaged(Source("rietx", "data/examples"), "FAP.XRA"), engine)
    engine.close()
    (root / "data").mkdir()
    random = np.random.default_rng(SEED)
    entries = []
    for number in range(count):
        counts = random.poisson(pattern.intensity)
        text = "".join(f"{x:.3f} {y}\n" for x, y in zip(pattern.two_theta_deg, counts, strict=True))
        name = f"p{number:03d}"
        (root / "data" / f"{name}.xy").write_text(text)
        entries.append({"name": name, "file": f"{name}.xy", "sha256": hashlib.sha256(text.encode()).hexdigest()})
    spec = yaml.safe_load((root / "campaign.yaml").read_text())
    spec["stages"]["series"] = {
        "depends_on": ["data", "refine"],
        "definition": {"lead": "fap", "source": None, "patterns": entries, "sequential": False},
        "criteria": [{"id": "stand", "expression": "stand == patterns", "statement": "Every pattern was refined."}],
        "mechanical": MECHANICAL,
    }
    spec["stages"]["compare"]["depends_on"] = ["refine", "series"]
    spec["limits"] = {"core_hours": 20 + 4 * count}
    (root / "campaign.yaml").write_text(yaml.safe_dump(spec, sort_keys=False))


def campaign(root: Path, workers: int) -> dict[str, float]:
    """Wall and CPU seconds of the signed campaign, and of its batch alone: from the verdict on the lead to the last."""
    key = root.parent / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    with campaign_lock.signing(root):
        approve.sign(approve.propose(root, probe=pitfalls.probes_of(root)), key, "bench")
    before, begun = cpu(), time.perf_counter()
    command = [sys.executable, "-m", "snakemake", "--cores", str(workers), "--quiet", "all"]
    subprocess.run(command, cwd=root, check=True)
    wall = time.perf_counter() - begun
    results = root / "results"
    last = max(path.stat().st_mtime for path in results.glob("series/*/outcome.json"))
    batch = last - (results / "refine" / "accepted.json").stat().st_mtime
    return {"wall_s": wall, "cpu_s": cpu() - before, "batch_wall_s": batch}


def lead_alone(root: Path) -> float:
    """Wall seconds of the lead's cycles: the rungs, and the one that repeats the last."""
    spec = yaml.safe_load((root / "campaign.yaml").read_text())
    definition = spec["stages"]["data"]["definition"]
    given = samples.load(root / "results" / "data" / "fap" / "sample.json")
    begun = time.perf_counter()
    engine = Rietx()
    phases = tuple(one.phase for one in given.phases)
    limits = tuple(definition["limits_deg"])
    state = engine.start(Setup(given.pattern, phases, given.instrument, Background(start=65.0), limits))
    free: tuple[Freed, ...] = ()
    for rung in [*spec["stages"]["refine"]["definition"]["recipe"]["rungs"], {"groups": []}]:
        free += tuple(Freed(group) for group in rung["groups"])
        state = engine.refine(given.pattern, state, Request(free, limit_s=LIMIT_S)).state
    engine.close()
    return time.perf_counter() - begun


def batch_alone(root: Path, workers: int) -> float:
    """Wall seconds of as many cycles as the batch took, from the same model, shared by the workers."""
    given = samples.load(root / "results" / "data" / "fap" / "sample.json")
    _, kept = model_files.read(root / "results" / "refine" / "fap" / "model.json", given.pattern)
    first = tuple(one for one in kept.free if one.group in FIRST)
    outcomes = (json.loads(path.read_text()) for path in root.glob("results/series/*/outcome.json"))
    rows = [row for outcome in outcomes for row in outcome["result"]["rows"]]

    def share(mine: list[dict]) -> None:
        engine = Rietx()
        for row in mine:
            pattern, state = patterns.read(root / "data" / f"{row['pattern']}.xy", engine), kept.state
            for number in range(row["cycles"]):
                free = kept.free if number else first
                state = engine.refine(pattern, state, Request(free, limit_s=LIMIT_S)).state
        engine.close()

    begun = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(share, [rows[start::workers] for start in range(workers)]))
    return time.perf_counter() - begun


def main() -> int:
    """Measure and record; 1 where the bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patterns", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"XDG_CONFIG_HOME": f"{folder}/config", "XDG_STATE_HOME": f"{folder}/state"}
        root = Path(folder) / "batch"
        make(root, args.patterns)
        measured = campaign(root, args.workers)
        print({key: round(value, 1) for key, value in measured.items()}, flush=True)
        before = cpu()
        lead, batch = lead_alone(root), batch_alone(root, args.workers)
        engine_cpu = cpu() - before
    result = {
        "patterns": args.patterns,
        "workers": args.workers,
        "seed": SEED,
        "batch": {
            "wall_s": round(measured["batch_wall_s"], 1),
            "engine_wall_s": round(batch, 1),
            "wall_ratio": round(measured["batch_wall_s"] / batch, 3),
            "bound": BOUND,
        },
        "whole": {
            "wall_s": round(measured["wall_s"], 1),
            "cpu_s": round(measured["cpu_s"], 1),
            "engine_wall_s": round(batch + lead / args.workers, 1),
            "engine_cpu_s": round(engine_cpu, 1),
            "wall_ratio": round(measured["wall_s"] / (batch + lead / args.workers), 3),
            "cpu_ratio": round(measured["cpu_s"] / engine_cpu, 3),
        },
        "load_average": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result, indent=2))
    record("rietveld_batch", result)
    return 0 if result["batch"]["wall_ratio"] <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
