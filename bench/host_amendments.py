"""Random edits of workflows that are not ours: after an amendment nothing stale is left, and little is repeated.

Each folder holds a workflow with a Snakefile where Snakemake looks for it, and runs with what is installed here.
A folder may hold `amendments.json`: {"arguments": [...], "templates": "{part: {...}}"}. Each edit (of a script, an
imported module, a config value, a shell line, params, an environment file, a source file, a sample) is made upon the
one before, amended, signed and run; the oracle is a clean run of the edited workflow without a gate, file by file.

    python bench/host_amendments.py FOLDER... --edits 200 --seed 2026
"""

import argparse
import dataclasses
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
from record import record

TOY = Path(__file__).parents[1] / "tests" / "toy"
sys.path.insert(0, str(TOY))

import host_edits  # noqa: E402 - found beside the tests that share it
import toy  # noqa: E402


def of_workflow(folder: Path, wanted: int, at_once: int, seed: int, out: Path) -> list[host_edits.Found]:
    """Edit one workflow as often as wanted; what came of it."""
    path = folder / "amendments.json"
    about = json.loads(path.read_text()) if path.is_file() else {}
    with tempfile.TemporaryDirectory() as scratch, pytest.MonkeyPatch.context() as monkeypatch:
        for variable, value in toy.settings(Path(scratch)).items():
            monkeypatch.setenv(variable, value)
        host_edits.plan_warm(monkeypatch)
        gated = host_edits.Gated(folder, Path(scratch), about.get("arguments", []), about.get("templates", "{}"))
        made = []
        for found in host_edits.edits(random.Random(seed), gated, wanted, at_once):
            made.append(found)
            print(folder.name, len(made), json.dumps(dataclasses.asdict(found)), flush=True)
            with out.open("a") as stream:
                stream.write(json.dumps({"workflow": folder.name, **dataclasses.asdict(found)}) + "\n")
        return made


def summary(made: dict[str, list[host_edits.Found]], seed: int, wall_s: float) -> dict:
    """What is kept: counts by class and by workflow; every stale or needlessly repeated file by name."""
    every = [found for each in made.values() for found in each]
    return {
        "edits": sum(len(found.kinds) for found in every),
        "amendments": len(every),
        "seed": seed,
        "by_workflow": {name: sum(len(one.kinds) for one in found) for name, found in made.items()},
        "by_class": dict(sorted(Counter(kind for found in every for kind in found.kinds).items())),
        "stale": [dataclasses.asdict(found) for found in every if found.stale or found.left],
        "files_made_again": sum(found.repeated for found in every),
        "made_again_with_the_same_bytes": sum(found.same for found in every),
        "made_again_though_not_moved": sum(len(found.beyond) for found in every),
        "needless": [[found.what, found.beyond] for found in every if found.beyond],
        "wall_s": round(wall_s, 1),
    }


def main() -> None:
    """Run, and record; exit code 1 if anything stale was left."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=1, help="edits an amendment (default: 1)")
    parser.add_argument("--seed", type=int, default=2026)
    args = parser.parse_args()
    begun, share = time.monotonic(), -(-args.edits // len(args.folders))
    out = Path(tempfile.mkdtemp()) / "edits.jsonl"
    made = {}
    for place, folder in enumerate(args.folders):
        made[folder.name] = of_workflow(folder.resolve(), share, args.at_once, args.seed + place, out)
    result = summary(made, args.seed, time.monotonic() - begun)
    record("host_amendments", result)
    print(json.dumps(result, indent=1))
    sys.exit(bool(result["stale"]))


if __name__ == "__main__":
    main()
