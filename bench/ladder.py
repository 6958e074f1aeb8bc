"""The simulated series over many seeds: cell, Rwp beside its expectation, significance of the impurity, processor time.

    pip install 'sophron[xrd]'; PYTHONPATH=tests/toy python bench/ladder.py --seeds 10

Each scan is kept in a file of its own below --work as soon as it is refined, so a run that was stopped goes on.
Thresholds are frozen from what is recorded here (`bounds_from_these_seeds`), by hand, in phase_significance.yaml.
"""

import argparse
import json
import resource
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import phase_significance
import refinable_groups
import rietveld_recipes
import rwp_floor
from ladder_sums import background_over_truth, draw, gathered, missed, rounded, thresholds
from record import record

from sophron.interfaces.rietveld import Fit, Freed, Request
from sophron.science.rietveld.refinement import Refinement
from sophron.science.rietveld.rietx_engine import VERSION, Rietx
from sophron.science.rietveld.simulated import series

LIMIT_S = 300.0
FLOORED, FLOOR_S = ("ladder", "control"), 14400.0
RAW_S = 87


def spent_s() -> float:
    """Processor seconds of this process and of engines that ended."""
    mine, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def main_phase(of: series.Series) -> str:
    """Name of the phase that is refined."""
    return series.phase(of.main).name


def supported(of_first: Path) -> rietveld_recipes.Recipe:
    """The rungs that the scan of the first seed freed: expected esds hang on the counts, not on their noise."""
    freed = json.loads(of_first.read_text())["freed"]
    whole = rietveld_recipes.recipe()
    return rietveld_recipes.Recipe(
        tuple(rietveld_recipes.Step(one.rung) for one in whole.steps if one.rung.name in freed), whole.main
    )


def scanned(
    engine: Rietx, truth: series.Truth, time_s: int, seed: int, recipe: rietveld_recipes.Recipe
) -> dict[str, object]:
    """One scan, refined: what came out, by name."""
    of = truth.series
    pattern = series.scan(truth, time_s, seed)
    with tempfile.TemporaryDirectory() as folder:
        refinement = Refinement.begin(engine, series.setup(of, pattern), Path(folder) / "refinement")
        climbed = rietveld_recipes.climb(refinement, main_phase(of), recipe, limit_s=LIMIT_S)
    fit = climbed.last.fit
    found: dict[str, object] = {
        "ended": climbed.last.ended,
        "freed": climbed.freed,
        "held": climbed.held,
        "cycles": len(refinement.kept) - 1,
    }
    return found | ({} if fit is None else numbers(truth, fit))


def numbers(truth: series.Truth, fit: Fit) -> dict[str, object]:
    """What a fit says beside the truth."""
    cell = {one.name: one for one in fit.parameters}.get(f"cell/{main_phase(truth.series)}/a")
    candidate = series.phase(truth.series.candidate).name
    share = next(one for one in fit.phases if one.name == candidate)
    return {
        "rwp_percent": fit.rwp.percent,
        "r_expected_percent": fit.r_expected_percent,
        "misfit_percent": fit.misfit_percent,
        "variables": fit.variables,
        "cell_error_ppm": None if cell is None else 1e6 * (cell.value / truth.cell_angstrom - 1),
        "cell_esd_ppm": None if cell is None else 1e6 * (cell.esd_counting or 0.0) / truth.cell_angstrom,
        "significance": phase_significance.significance(fit, candidate),
        "weight_fraction": share.weight_fraction,
        "weight_fraction_esd": share.weight_fraction_esd,
        "background_mean": float(fit.curves.background.mean()),
    }


def floors(engine: Rietx, truth: series.Truth) -> dict[str, object]:
    """The model's floor: the same freedom, refined against the expected counts."""
    of = truth.series
    pattern = series.expected(truth, FLOOR_S)
    with tempfile.TemporaryDirectory() as folder:
        refinement = Refinement.begin(engine, series.setup(of, pattern), Path(folder) / "refinement")
        climbed = rietveld_recipes.climb(refinement, main_phase(of), rietveld_recipes.recipe(), limit_s=LIMIT_S)
        settled = rietveld_recipes.settle(
            refinement, refinable_groups.request(refinement.current.state, climbed.free, LIMIT_S), "floor"
        )
    floor = rwp_floor.floor(settled.fit, FLOOR_S)
    return {
        **asdict(floor),
        "percent": floor.percent,
        "freed": climbed.freed,
        "cell_error_ppm": numbers(truth, settled.fit)["cell_error_ppm"],
    }


def counts_needed(engine: Rietx, truth: series.Truth) -> dict[str, float]:
    """Counts in a pattern from which each rung is supported, everything of the recipe being free."""
    of, recipe = truth.series, rietveld_recipes.recipe()
    pattern = series.expected(truth, FLOOR_S)
    with tempfile.TemporaryDirectory() as folder:
        refinement = Refinement.begin(engine, series.setup(of, pattern), Path(folder) / "refinement")
        climbed = rietveld_recipes.climb(refinement, main_phase(of), recipe, limit_s=LIMIT_S)
        groups = [
            (group, main_phase(of) if group in recipe.main else None)
            for one in recipe.steps
            for group in one.rung.groups
        ]
        free = [Freed(group, phase) for group, phase in groups]
        rehearsed = refinable_groups.rehearse(engine, refinement.current.state, climbed.last.fit, free, limit_s=LIMIT_S)
    counts = float(pattern.intensity.sum())
    return {
        one.rung.name: refinable_groups.counts_needed(rehearsed, one.needs, counts) for one in recipe.steps if one.needs
    }


def measure(work: Path, seeds: range, wanted: list[str], first: int = 1) -> None:
    """Every scan that has no file yet, seed after seed. first: the seed whose scans choose what is free."""
    work.mkdir(parents=True, exist_ok=True)
    truths: dict[str, series.Truth] = {}
    for seed in [0, *seeds]:  # 0: without noise, for the floor
        engine, made = Rietx(), 0
        truths = truths or {name: series.truth(engine, series.series(name)) for name in wanted}
        engine.close()
        before = spent_s()
        for name in wanted:
            for time_s in series.series(name).times_s if seed else (0,) * (name in FLOORED):
                path = work / f"{name}-{time_s}-{seed}.json"
                if path.is_file():
                    continue
                whole = seed <= first
                recipe = rietveld_recipes.recipe() if whole else supported(work / f"{name}-{time_s}-{first}.json")
                found = scanned(engine, truths[name], time_s, seed, recipe) if seed else floors(engine, truths[name])
                path.write_text(json.dumps({"series": name, "time_s": time_s, "seed": seed} | found))
                made += 1
                print(name, time_s, seed, {key: found.get(key) for key in ("rwp_percent", "significance")}, flush=True)
        engine.close()  # the time of a child counts when it has ended
        if made:
            (work / f"cpu-{wanted[0]}-{seed}.json").write_text(json.dumps({"scans": made, "cpu_s": spent_s() - before}))
        needed = work / "counts-needed.json"
        if "ladder" in wanted and not needed.is_file():
            needed.write_text(json.dumps(counts_needed(engine, truths["ladder"])))
        raw = work / f"raw-{seed}.json"
        if seed and "ladder" in wanted and not raw.is_file():
            raw.write_text(json.dumps(biased(engine, truths["ladder"], RAW_S, seed)))
            engine.close()


def biased(engine: Rietx, truth: series.Truth, time_s: int, seed: int) -> dict[str, object]:
    """The same scan with weights of the counts themselves: how far its background is from the true one."""
    of = truth.series
    with tempfile.TemporaryDirectory() as folder:
        setup = series.setup(of, series.scan(truth, time_s, seed))
        refinement = Refinement.begin(engine, setup, Path(folder) / "refinement")
        free: tuple[Freed, ...] = ()
        for step in rietveld_recipes.recipe().steps[:3]:
            main = rietveld_recipes.recipe().main
            free += tuple(Freed(one, main_phase(of) if one in main else None) for one in step.rung.groups)
            cycle = refinement.refine(Request(free, limit_s=LIMIT_S), step.rung.name)
    return {"ended": cycle.ended, "background_over_truth": background_over_truth(numbers(truth, cycle.fit), time_s)}


def main() -> int:
    """Measure what is missing, then gather, record and draw; 1 where something is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--series", nargs="+", default=["ladder", "control"], choices=series.names())
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "sophron-ladder")
    parser.add_argument("--gather", action="store_true", help="refine nothing; record and draw what is there")
    args = parser.parse_args()
    if not args.gather:
        measure(args.work, range(1, args.seeds + 1), args.series)
    found = {name: of for name in series.names() if (of := gathered(args.work, name))}
    needed = args.work / "counts-needed.json"
    spent = [json.loads(path.read_text()) for path in args.work.glob("cpu-*.json")]
    scans = sum(one["scans"] for one in spent)
    result = {
        "simulated": True,
        "engine": {"name": "rietx", "version": VERSION},
        "series": found,
        "bounds_from_these_seeds": thresholds(found),
        "thresholds_in_use": asdict(phase_significance.thresholds()),
        "weights_of_the_counts_themselves": [
            json.loads(path.read_text()) for path in sorted(args.work.glob("raw-*.json"))
        ],
        "counts_from_which_a_rung_is_free": json.loads(needed.read_text()) if needed.is_file() else None,
        "cpu_s_a_scan": sum(one["cpu_s"] for one in spent) / scans if scans else None,
        "missed": missed(found),
    }
    record("ladder", rounded(result))
    draw(result)
    summary = {name: found[name]["by_time"] for name in found}
    print(json.dumps(summary | {"bounds": result["bounds_from_these_seeds"], "missed": result["missed"]}, indent=1))
    return 1 if result["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
