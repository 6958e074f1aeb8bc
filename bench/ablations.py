"""Tabulate the ablations that Superscientist planned (F.3), each from the record of the bench that measured it.

    python bench/ablations.py chain WORK    read what the campaigns took that `ablation_arms.py contract WORK` ran, and
                                            `ablation_arms.py contract WORK/stagewise --stagewise --only control`
    python bench/ablations.py               write bench/results/ablations.json

1. contract against gate-free: ablation_arms.py. 2. cost of chaining: `chain`; request_sizes.json has the tokens that a
model would get. 3. observables between ways to execute: observables_cross_backend.py, rg_cross_backend.py. 4. regret of
the search for a sequence: sequence_bo.py.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml
from record import RESULTS, record

from sophron.agents.gateway import ledger

FINISHED = {
    "clean": "contract/control",
    "clean, --stagewise": "stagewise/contract/control",
    "an engine killed twice": "contract/lost-replica",
    "amended once": "contract/few-steps",
}
"""What happened to a campaign -> its folder."""
PARTS = ("ablation_faults", "chaining", "observables_cross_backend", "rg_cross_backend", "sequence_bo")
MATCHED = 35
"""Evaluations of the published search: 20 of its warm-up and 15 proposals."""


def cost(root: Path) -> dict[str, Any]:
    """Return what a finished campaign took: Snakemake processes, steps, calls of a model and their tokens."""
    spent = ledger.spent(root) or {}
    return {
        "stages": len(yaml.safe_load((root / "campaign.yaml").read_text())["stages"]),
        "snakemake_processes": len(list((root / ".snakemake" / "log").glob("*.log"))),
        "step_tries": len(list(root.glob("records/*/*/try.json"))),
        "model_calls": int(spent.get("model_calls", 0)),
        "tokens": int(spent.get("tokens", 0)),
        "dollars_at_list_prices": round(float(spent.get("dollars", 0)), 4),
        "signatures": len(list((root / "approvals" / "log").glob("*.json"))),
    }


def chain(work: Path) -> None:
    """Record what campaigns of `ablation_arms.py contract WORK` took that ran to their end unattended."""
    found = {name: cost(work / folder) for name, folder in FINISHED.items() if (work / folder).exists()}
    print(json.dumps(found, indent=1))
    record("chaining", {"ways": found})


def regret(found: dict[str, Any]) -> dict[str, Any]:
    """Return the regret of each arm with its band, and what the search adds to random sampling at equal evaluations."""
    arms = {
        name: [{key: row[key] for key in ("evaluations", "mean", "error", "q10", "q90")} for row in arm["regret"]]
        for name, arm in found["arms"].items()
    }
    paper = found["paper"]
    return {
        "curves": arms,
        "replays": {name: arm["replays"] for name, arm in found["arms"].items()},
        "matched_evaluations": MATCHED,
        "gain_over_random": found["against_random_at_35"],
        "published_gain": paper["validated"] - paper["best_of_warm_up"],
        "published_error": paper["validated_error"],
    }


def table() -> dict[str, Any]:
    """Return all parts that are recorded, each with the commit and date of its record."""
    found = {}
    for name in PARTS:
        path = RESULTS / f"{name}.json"
        if path.is_file():
            kept = json.loads(path.read_text())
            result = regret(kept["result"]) if name == "sequence_bo" else kept["result"]
            if name == "ablation_faults":
                result = {"arms": result["arms"]}
            found[name] = {"date": kept["date"], "commit": kept["commit"], "result": result}
    return found


def main() -> int:
    """Run the chain, or tabulate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["chain"])
    parser.add_argument("work", nargs="?", type=Path)
    args = parser.parse_args()
    if args.what:
        work = args.work.absolute()
        chain(work)
    else:
        print(record("ablations", table()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
