"""Random edits of workflows that are not ours: after an amendment nothing stale is left, and little is repeated.

Each folder holds a workflow with a Snakefile where Snakemake looks for it, and runs with what is installed here.
A folder may hold `amendments.json`: {"arguments": [...], "templates": "{part: {...}}"}. Each edit (of a script, an
imported module, a config value, a shell line, params, an environment file, a source file, a sample) is made upon the
one before, amended, signed and run; the oracle is a clean run of the edited workflow without a gate, file by file.

    python bench/host_amendments.py FOLDER... --edits 200 --at-once 2 --jobs 2 --minutes 60 --seed 2026
"""

import argparse
import dataclasses
import json
import random
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from record import record

TOY = Path(__file__).parents[1] / "tests" / "toy"
sys.path.insert(0, str(TOY))

import host_edits  # noqa: E402 - found beside the tests that share it
import toy  # noqa: E402


def of_workflow(
    folder: Path, seed: int, *, wanted: int, at_once: int, most_s: float, out: Path
) -> tuple[list[host_edits.Found], str]:
    """Edit one workflow as often as wanted, or until the time is over; what came of it, and why it ended early."""
    path, begun = folder / "amendments.json", time.monotonic()
    about = json.loads(path.read_text()) if path.is_file() else {}
    made: list[host_edits.Found] = []
    with tempfile.TemporaryDirectory() as scratch, pytest.MonkeyPatch.context() as monkeypatch:
        for variable, value in toy.settings(Path(scratch)).items():
            monkeypatch.setenv(variable, value)
        host_edits.plan_warm(monkeypatch)
        try:
            gated = host_edits.Gated(folder, Path(scratch), about.get("arguments", []), about.get("templates", "{}"))
            for found in host_edits.edits(random.Random(seed), gated, wanted, at_once):
                made.append(found)
                print(folder.name, len(made), json.dumps(dataclasses.asdict(found)), flush=True)
                with out.open("a") as stream:
                    stream.write(json.dumps({"workflow": folder.name, **dataclasses.asdict(found)}) + "\n")
                if time.monotonic() - begun > most_s:
                    break
        except (AssertionError, host_edits.NothingToEditError) as error:
            return made, str(error)[-2000:] or "the workflow does not run"
    return made, ""


def summary(made: dict[str, list[host_edits.Found]], ended: dict[str, str], seed: int, wall_s: float) -> dict:
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
        "ended_early": ended,
        "wall_s": round(wall_s, 1),
    }


def main() -> None:
    """Run, and record; exit code 1 if anything stale was left."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=lambda path: Path(path).resolve(), nargs="+")
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=1, help="edits an amendment (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="workflows that are edited at a time")
    parser.add_argument("--minutes", type=float, default=600, help="after which no further amendment begins")
    parser.add_argument("--seed", type=int, default=2026)
    args = parser.parse_args()
    begun, share = time.monotonic(), -(-args.edits // len(args.folders))
    most_s = 60 * args.minutes * args.jobs / len(args.folders)
    out = Path(tempfile.mkdtemp()) / "edits.jsonl"
    one = partial(of_workflow, wanted=share, at_once=args.at_once, most_s=most_s, out=out)
    with ProcessPoolExecutor(args.jobs) as pool:
        found = list(pool.map(one, args.folders, count(args.seed)))
    made = {folder.name: of for folder, (of, _) in zip(args.folders, found, strict=True)}
    ended = {folder.name: why for folder, (_, why) in zip(args.folders, found, strict=True) if why}
    result = summary(made, ended, args.seed, time.monotonic() - begun)
    record("host_amendments", result)
    print(json.dumps(result, indent=1))
    sys.exit(bool(result["stale"] or ended))


if __name__ == "__main__":
    main()
