"""Stage compare: what validation says of the sequence that the model recommended, and of what the rounds gained."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from sophron.interfaces import JsonObject
from sophron.interfaces.kind import StepContext, StepResult, UpstreamStep

WARM_UP = "warm_up"


def run(ctx: StepContext) -> StepResult:
    """State the radius of the first candidate, which was chosen before validation, so that no selection is in it.

    The gain is against the warm-up's best, validated in the same way; the optimism is what the model expected beyond
    what validation gave. Draws `candidates.svg`.
    """
    from sophron.science.estimators.statistics import t_quantile

    steps = ctx.upstream["validate"]
    by_name = {step.wildcards["candidate"]: step.result for step in steps}
    first, start = by_name["0"], by_name[WARM_UP]
    value, error = first["radius_of_gyration"], first["radius_of_gyration_error"]
    half = t_quantile(first["error_degrees_of_freedom"] or math.inf) * error
    optimism = first["expected"] - value
    path = ctx.workdir / "candidates.svg"
    _draw(path, steps)
    result = {
        "sequence": first["blocks"],
        "radius_of_gyration": value,
        "radius_of_gyration_error": error,
        "interval_low": value - half,
        "interval_high": value + half,
        "units": "sigma",
        "warm_up_sequence": start["blocks"],
        "gain": value - start["radius_of_gyration"],
        "gain_error": math.hypot(error, start["radius_of_gyration_error"]),
        "optimism": optimism,
        "optimism_z": optimism / math.hypot(error, first["expected_deviation"]),
        "largest": max(steps, key=lambda step: step.result["radius_of_gyration"]).result["blocks"],
        "candidates": [_row(step) for step in steps],
    }
    return StepResult(result, {"candidates_plot": path})


def _row(step: UpstreamStep) -> JsonObject:
    names = ("expected", "expected_deviation", "radius_of_gyration", "radius_of_gyration_error")
    values = {name: step.result[name] for name in names}
    return {"candidate": step.wildcards["candidate"], **values, "sequence": step.result["blocks"]}


def _draw(path: Path, steps: Sequence[UpstreamStep]) -> None:
    """Expected and validated radius of each candidate."""
    from sophron.science.figures import BLUE, VERMILION, saved_figure

    results = [step.result for step in steps]
    names = [f"{step.result['blocks']}\n({step.wildcards['candidate'].replace('_', '-')})" for step in steps]
    styles = (
        ("expected", "expected_deviation", BLUE, "expected by the model"),
        ("radius_of_gyration", "radius_of_gyration_error", VERMILION, "validated, fresh seeds"),
    )
    with saved_figure(path) as figure:
        axes = figure.subplots()
        for shift, (value, error, colour, label) in enumerate(styles):
            places = [place + 0.1 * (2 * shift - 1) for place in range(len(results))]
            axes.errorbar(
                places, [one[value] for one in results], [one[error] for one in results],
                fmt="o", color=colour, capsize=4, label=f"{label} ± 1 s.e.",
            )  # fmt: skip
        axes.set_xticks(range(len(results)), names)
        axes.set_ylabel("radius of gyration (\N{GREEK SMALL LETTER SIGMA})")
        axes.legend(loc="best")
