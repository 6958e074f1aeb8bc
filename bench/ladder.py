"""The simulated series over many seeds: cell, Rwp beside its expectation, significance of the impurity, processor time.

    pip install 'sophron[xrd]'; python bench/ladder.py --seeds 10

Each scan is kept in a file of its own below --work as soon as it is refined, so a run that was stopped goes on.
`--draw` only draws the pictures from bench/results/ladder.json.
"""

import argparse
import json
import resource
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from sophron.interfaces.rietveld_fit import Fit
from sophron.science.rietveld import evidence, expectation, freedom, matched, weights
from sophron.science.rietveld.refinement import Refinement
from sophron.science.rietveld.rietx_engine import Rietx
from sophron.science.rietveld.simulated import generate, series

LIMIT_S = 300.0
FLOOR_S = 14400.0


def spent_s() -> float:
    """Processor seconds of this process and of engines that ended."""
    mine, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def main_phase(of: series.Series) -> str:
    """Name of the phase that is refined."""
    return series.phase(of.main).name


def scanned(engine: Rietx, truth: generate.Truth, time_s: int, seed: int) -> dict[str, object]:
    """One scan, refined: what came out, by name."""
    of = truth.series
    pattern = generate.scan(truth, time_s, seed)
    with tempfile.TemporaryDirectory() as folder:
        refinement = Refinement.begin(engine, series.setup(of, pattern), Path(folder) / "refinement")
        climbed = matched.climb(refinement, main_phase(of), matched.recipe(), limit_s=LIMIT_S)
    fit = climbed.last.fit
    found: dict[str, object] = {
        "ended": climbed.last.ended,
        "freed": climbed.freed,
        "held": climbed.held,
        "cycles": len(refinement.kept) - 1,
    }
    return found | ({} if fit is None else numbers(truth, fit))


def numbers(truth: generate.Truth, fit: Fit) -> dict[str, object]:
    """What a fit says beside the truth."""
    cell = fit.parameter(f"cell/{main_phase(truth.series)}/a")
    candidate = series.phase(truth.series.candidate).name
    share = next(one for one in fit.phases if one.name == candidate)
    return {
        "rwp_percent": fit.rwp.percent,
        "r_expected_percent": fit.r_expected_percent,
        "misfit_percent": expectation.misfit_percent(fit),
        "variables": fit.variables,
        "cell_error_ppm": 1e6 * (cell.value / truth.cell_angstrom - 1),
        "cell_esd_ppm": 1e6 * (cell.esd_counting or 0.0) / truth.cell_angstrom,
        "significance": evidence.significance(fit, candidate),
        "weight_fraction": share.weight_fraction,
        "weight_fraction_esd": share.weight_fraction_esd,
        "background_mean": float(fit.curves.background.mean()),
    }


def floors(engine: Rietx, truth: generate.Truth) -> dict[str, object]:
    """The model's floor: the same freedom, refined against the expected counts."""
    of = truth.series
    pattern = generate.expected(truth, FLOOR_S)
    with tempfile.TemporaryDirectory() as folder:
        refinement = Refinement.begin(engine, series.setup(of, pattern), Path(folder) / "refinement")
        climbed = matched.climb(refinement, main_phase(of), matched.recipe(), limit_s=LIMIT_S)
        settled = weights.settle(refinement, freedom.request(refinement.current.state, climbed.free, LIMIT_S), "floor")
    floor = expectation.floor(settled.fit, FLOOR_S)
    return {
        **asdict(floor),
        "percent": floor.percent,
        "freed": climbed.freed,
        "cell_error_ppm": numbers(truth, settled.fit)["cell_error_ppm"],
    }


def measure(work: Path, seeds: range, wanted: list[str]) -> None:
    """Every scan that has no file yet, seed after seed."""
    work.mkdir(parents=True, exist_ok=True)
    truths: dict[str, generate.Truth] = {}
    for seed in [0, *seeds]:  # 0: without noise, for the floor
        engine, before, made = Rietx(), spent_s(), 0
        for name in wanted:
            for time_s in series.series(name).times_s if seed else (0,):
                path = work / f"{name}-{time_s}-{seed}.json"
                if path.is_file():
                    continue
                if name not in truths:
                    truths[name] = generate.truth(engine, series.series(name))
                found = scanned(engine, truths[name], time_s, seed) if seed else floors(engine, truths[name])
                path.write_text(json.dumps(found | {"series": name, "time_s": time_s, "seed": seed}))
                made += 1
                print(name, time_s, seed, {key: found.get(key) for key in ("rwp_percent", "significance")}, flush=True)
        engine.close()  # the time of a child counts when it has ended
        if made:
            (work / f"cpu-{seed}.json").write_text(json.dumps({"scans": made, "cpu_s": spent_s() - before}))


def main() -> int:
    """Measure what is missing, then gather, record and draw; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--series", nargs="+", default=["ladder", "control"])
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "sophron-ladder")
    parser.add_argument("--draw", action="store_true")
    args = parser.parse_args()
    if not args.draw:
        measure(args.work, range(1, args.seeds + 1), args.series)
    return 0


if __name__ == "__main__":
    sys.exit(main())
