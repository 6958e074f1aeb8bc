"""Random amendments of a campaign: the steps that run again are those of the amended stages and their descendants.

Each example starts from a finished campaign of plain sums (six stages, two branches, replicas) and signs one or two
random amendments: parameters, the seed, the number of replicas, criteria, a criterion that nothing meets and then its
loosening, mechanical blocks, stages removed, added and renamed (removed and added under another name), mixtures,
withdrawals, with and without a run in between. Half of them are drafted change by change, each on top of the draft that
waits. After each signature the dry run, and after each run the tries, are compared with a closure worked out apart from
Sophron's.

    python bench/random_amendments.py --amendments 200 --seed 2026
"""

import argparse
import itertools
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from record import record

TOY = Path(__file__).parents[1] / "tests" / "toy"
sys.path.insert(0, str(TOY))

import random_amendments  # noqa: E402 - found beside the tests that share it
import toy  # noqa: E402


def compare(wanted: int, first_seed: int, folder: Path) -> list[str]:
    """Sign at least `wanted` random amendments and compare each with the model; what was signed."""
    begun = time.monotonic()
    signed: list[str] = []
    numbers = itertools.count()
    with pytest.MonkeyPatch.context() as monkeypatch:
        toy.plan_here(monkeypatch)
        monkeypatch.setattr(toy, "BASICS", [*toy.BASICS, "--quiet", "all"])
        finished = toy.campaign(folder, monkeypatch)
        model = random_amendments.baseline(finished)

        @seed(first_seed)
        @settings(
            max_examples=wanted,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(random_amendments.ROUNDS)
        def example(rounds: list[random_amendments.Round]) -> None:
            if len(signed) < wanted:
                copy = random_amendments.duplicate(finished, folder / str(next(numbers)))
                signed.extend(random_amendments.check(copy, model.copy(), rounds))
                keep(signed, first_seed, time.monotonic() - begun)

        example()
    return signed


def keep(signed: list[str], first_seed: int, wall_s: float) -> None:
    """Write bench/results/random_amendments.json; after each example, so that an interrupted run still counts."""
    result = {
        "amendments": len(signed),
        "mismatches": 0,  # a mismatch is an AssertionError that ends the run
        "seed": first_seed,
        "by_what_they_change": dict(sorted(Counter(signed).items())),
        "wall_s": round(wall_s, 1),
    }
    record("random_amendments", result)
    print(f"{len(signed)} amendments", flush=True)


def main() -> None:
    """Run; a mismatch ends it with an AssertionError."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--amendments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2026)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare(args.amendments, args.seed, Path(folder))


if __name__ == "__main__":
    main()
