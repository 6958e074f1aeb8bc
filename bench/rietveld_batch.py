"""A batch of patterns as a campaign, against the engine alone: wall and CPU seconds, and their ratio.

Patterns are Poisson draws (seed in the result) from the fluorapatite pattern that comes with rietx. The engine alone
does the same cycles, one more from the last model included, in one process a worker, started once. The bound of 1.15
holds for wall time on an otherwise idle machine; CPU seconds are given beside it, because they hold on a busy one too.

python bench/rietveld_batch.py --patterns 100 --workers 2
"""

import argparse
import hashlib
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

from sophron.campaign import approve, locks
from sophron.interfaces.rietveld import Background, Freed, Request, Setup
from sophron.records.resources import resource
from sophron.science.rietveld import pattern as patterns
from sophron.science.rietveld.data import packaged
from sophron.science.rietveld.rietx_engine import Rietx
from sophron.science.rietveld.session import sample as samples

BOUND = 1.15
SEED = 20261122


def cpu() -> float:
    """CPU seconds of this process's children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def make(root: Path, count: int) -> None:
    """The shipped campaign with `count` patterns of its own, and a recipe that draws no plots on the way."""
    shutil.copytree(resource("campaigns", "rietveld-fluorapatite"), root)
    engine = Rietx()
    pattern = patterns.read(packaged({"package": "rietx", "folder": "data/examples"}, "FAP.XRA"), engine)
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
    spec["stages"]["data"]["definition"]["patterns"] = entries
    del spec["stages"]["refine"]["definition"]["recipe"]["plots"]
    spec["stages"]["refine"]["criteria"] = [
        one for one in spec["stages"]["refine"]["criteria"] if one["id"] != "looked"
    ]
    spec["limits"] = {"steps": 10 + 4 * count, "core_hours": 10 + 4 * count}
    (root / "campaign.yaml").write_text(yaml.safe_dump(spec, sort_keys=False))


def engine_alone(root: Path, workers: int) -> tuple[float, float]:
    """Wall seconds of all cycles over the workers, and CPU seconds."""
    spec = yaml.safe_load((root / "campaign.yaml").read_text())
    definition = spec["stages"]["data"]["definition"]
    rungs = spec["stages"]["refine"]["definition"]["recipe"]["rungs"]
    cif = packaged(definition["source"], "fluorapatite.cif").read_text()
    phase = samples.Phase("FAP", cif)
    shares = [definition["patterns"][start::workers] for start in range(workers)]
    before, begun = cpu(), time.perf_counter()

    def share(entries: list[dict[str, str]]) -> None:
        engine = Rietx()
        for entry in entries:
            pattern = patterns.read(root / "data" / entry["file"], engine)
            setup = Setup(
                pattern, (phase,), samples.instrument(definition["instrument"]), Background(start=65.0), (15.0, 130.04)
            )
            state, free = engine.start(setup), ()
            for rung in [*rungs, {"groups": []}]:
                free += tuple(Freed(group) for group in rung["groups"])
                cycle = engine.refine(pattern, state, Request(free, limit_s=600))
                state = cycle.state
        engine.close()

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(share, shares))
    return time.perf_counter() - begun, cpu() - before


def campaign(root: Path, workers: int) -> tuple[float, float]:
    """The same for the signed campaign."""
    key = root.parent / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    with locks.signing(root):
        approve.sign(approve.propose(root), key, "bench")
    before, begun = cpu(), time.perf_counter()
    command = [sys.executable, "-m", "snakemake", "--cores", str(workers), "--quiet", "all"]
    subprocess.run(command, cwd=root, check=True)
    return time.perf_counter() - begun, cpu() - before


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
        alone = engine_alone(root, args.workers)
        whole = campaign(root, args.workers)
    result = {
        "patterns": args.patterns,
        "workers": args.workers,
        "seed": SEED,
        "engine_wall_s": round(alone[0], 1),
        "engine_cpu_s": round(alone[1], 1),
        "campaign_wall_s": round(whole[0], 1),
        "campaign_cpu_s": round(whole[1], 1),
        "wall_ratio": round(whole[0] / alone[0], 3),
        "cpu_ratio": round(whole[1] / alone[1], 3),
        "bound": BOUND,
        "load_average": round(os.getloadavg()[0], 1),
    }
    print(result)
    record("rietveld_batch", result)
    return 0 if result["wall_ratio"] <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
