"""Stage cross_check: shear, extrapolated to zero rate, against Green-Kubo."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.records.typed_json import to_json
from sophron.science.estimators.statistical_power import LARGEST_DIFFERENCE, Agreement, compare_two
from sophron.science.estimators.statistics import Estimated, normal_error, replica_mean
from sophron.science.estimators.zero_shear import ZeroShear, carreau, extrapolate
from sophron.science.figures import BLUE, GREEN, VERMILION, VISCOSITY_UNIT, saved_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def run(ctx: StepContext) -> StepResult:
    """Average over replicas at each rate, extrapolate (`zero_shear.extrapolate`), compare; draws `rates.svg`.

    A refused Green-Kubo viscosity leaves the comparison null; the extrapolation and the lower bound stand all the same.
    """
    rates = by_rate([step.result for step in ctx.upstream["shear"]])
    errors = [normal_error(one.viscosity_error, one.degrees_of_freedom) for one in rates]
    zero = extrapolate([one.rate for one in rates], [one.viscosity for one in rates], errors)
    green_kubo = ctx.one("green_kubo").result
    result = {
        "viscosity_zero_rate": zero.viscosity,
        "viscosity_zero_rate_error": zero.error,
        "fit_form": "carreau_yasuda",
        "chi2": zero.chi2,
        "dof": zero.dof,
        "p_value": zero.p_value,
        "thinning_exponent": zero.exponent,
        "carreau_time": zero.time,
        "extrapolation_ratio": zero.ratio,
        "extrapolation_reliable": zero.reliable,
        "lower_bound": zero.lower_bound,
        "viscosity_green_kubo": green_kubo["viscosity"],
        "viscosity_green_kubo_error": green_kubo["viscosity_standard_error"],
        **_comparison(zero, green_kubo, ctx.definition.get("largest_difference", LARGEST_DIFFERENCE)),
        "rates": to_json(rates),
    }
    path = ctx.workdir / "rates.svg"
    _draw(path, rates, zero, green_kubo)
    return StepResult(result, {"rates_plot": path}, {"numpy": np.__version__})


@dataclass(frozen=True)
class Rate:
    """Viscosity at one shear rate over its replicas; degrees_of_freedom: of its error, None if it is known."""

    rate: float
    viscosity: float
    viscosity_error: float
    replicas: int
    degrees_of_freedom: float | None


def by_rate(results: Sequence[Mapping[str, Any]]) -> list[Rate]:
    """Return the viscosity at each rate that has an error, ascending, over replicas (`statistics.replica_mean`).

    EngineFailure if no rate has one.
    """
    rates = []
    for rate, group in groupby(sorted(results, key=lambda result: float(result["rate"])), key=lambda one: one["rate"]):
        runs = list(group)
        values, errors = ([run[name] for run in runs] for name in ("viscosity", "viscosity_error"))
        freedoms = [run.get("viscosity_degrees_of_freedom") or math.inf for run in runs]
        mean, error, freedom = replica_mean(values, errors, freedoms)
        if error:
            rates.append(Rate(float(rate), mean, error, len(runs), freedom))
    if not rates:
        raise EngineFailure("no shear rate has a viscosity with an error; measure more steps, or more replicas")
    return rates


def _comparison(
    zero: ZeroShear, green_kubo: Mapping[str, Any], largest_difference: float
) -> dict[str, float | str | None]:
    """Test against Green-Kubo; what is not reliably extrapolated agrees with nothing. All None if it refused."""
    names = ("difference", "combined_error", "comparison_degrees_of_freedom", "z", "p_difference")
    if green_kubo["viscosity"] is None:
        return dict.fromkeys([*names, "detectable_difference", "agreement"])
    other = (green_kubo[name] for name in ("viscosity", "viscosity_standard_error", "degrees_of_freedom"))
    test = compare_two(Estimated(zero.viscosity, zero.error), Estimated(*other))
    return {
        "difference": test.difference,
        "combined_error": test.combined_error,
        "comparison_degrees_of_freedom": test.degrees_of_freedom,
        "z": test.z,
        "p_difference": test.p_value,
        "detectable_difference": test.detectable_difference,
        "agreement": test.agreement(largest_difference) if zero.reliable else Agreement.CANNOT_TELL,
    }


def _draw(path: Path, rates: Sequence[Rate], zero: ZeroShear, green_kubo: Mapping[str, float]) -> None:
    """Viscosity against rate, the mean form, and Green-Kubo as a band."""
    rate, viscosity, error = (
        np.array([getattr(one, name) for one in rates]) for name in ("rate", "viscosity", "viscosity_error")
    )
    fine = np.geomspace(rate[0] / 10, rate[-1] * 1.5, 200)
    with saved_figure(path) as figure:
        axes = figure.subplots()
        if green_kubo["viscosity"] is not None:
            axes.axhspan(green_kubo["interval_low"], green_kubo["interval_high"], color=GREEN, alpha=0.2, linewidth=0)
            axes.axhline(green_kubo["viscosity"], color=GREEN, linestyle="--", label="Green-Kubo, 95 % interval")
        form = carreau(fine, zero.viscosity, zero.time, zero.exponent, zero.sharpness)
        axes.plot(fine, form, color=BLUE, label="mean form")
        axes.errorbar(rate, viscosity, yerr=2 * error, color=BLUE, fmt="o", capsize=3, label="shear ± 2 s.e.")
        label = "zero rate ± 2 s.e." if zero.reliable else "zero rate ± 2 s.e. (not reliable)"
        axes.errorbar(fine[:1], [zero.viscosity], yerr=2 * zero.error, color=VERMILION, fmt="s", capsize=4, label=label)
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("shear rate (1/τ)")
        axes.set_ylabel(f"η ({VISCOSITY_UNIT})")
        axes.set_title("Viscosity against shear rate")
        axes.legend(loc="lower left")
