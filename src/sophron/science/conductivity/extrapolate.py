"""Stage extrapolate: conductivities of boxes of several lengths, extrapolated to an infinite one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.records.typed_json import to_json
from sophron.science.conductivity.build import UNITS, Units
from sophron.science.estimators.finite_size import LEAST_LENGTHS, Extrapolation, extrapolate
from sophron.science.estimators.statistics import normal_error, replica_mean
from sophron.science.figures import BLUE, VERMILION, saved_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def run(ctx: StepContext) -> StepResult:
    """Average over replicas at each length, fit 1/conductivity against 1/length, draw `lengths.svg`.

    A refusal is a finished result with conductivity null.
    """
    results = [step.result for step in ctx.upstream["mueller_plathe"]]
    units = UNITS[results[0]["model"]["units"]]
    lengths = by_length(results)
    found = extrapolate(
        [one.length for one in lengths],
        [one.conductivity for one in lengths],
        [normal_error(one.conductivity_error, one.degrees_of_freedom) for one in lengths],
    )
    given = found.refusal is None
    result = {
        "conductivity": found.conductivity if given else None,
        "conductivity_standard_error": found.standard_error if given else None,
        "interval_low": found.low if given else None,
        "interval_high": found.high if given else None,
        "units": units.conductivity,
        "intercept": found.intercept,
        "intercept_error": found.intercept_error,
        "slope": found.slope,
        "slope_error": found.slope_error,
        "r_squared": found.r_squared,
        "chi2": found.chi2,
        "degrees_of_freedom": found.degrees_of_freedom,
        "p_value": found.p_value,
        "curvature_z": found.curvature_z,
        "extrapolation_ratio": found.ratio,
        "other_form": found.other_conductivity,
        "lower_bound": found.lower_bound,
        "lengths": to_json(lengths),
        "remark": _remark(lengths, units),
        "refused": not given,
        "refusal": found.refusal,
    }
    path = ctx.workdir / "lengths.svg"
    _draw(path, lengths, found, units)
    return StepResult(result, {"lengths_plot": path}, {"numpy": np.__version__})


@dataclass(frozen=True)
class BoxLength:
    """Conductivity of a box of one length over its replicas; degrees_of_freedom: of its error, None if it is known."""

    length: float
    conductivity: float
    conductivity_error: float
    replicas: int
    degrees_of_freedom: float | None


def by_length(results: Sequence[Mapping[str, Any]]) -> list[BoxLength]:
    """Return the conductivity at each length that has an error, ascending, over replicas (`statistics.replica_mean`).

    EngineFailure if fewer lengths have one than an extrapolation needs.
    """
    ordered = sorted(results, key=lambda result: float(result["length"]))
    lengths = []
    for length, group in groupby(ordered, key=lambda result: float(result["length"])):
        runs = list(group)
        values, errors = ([run[name] for run in runs] for name in ("conductivity", "conductivity_error"))
        freedoms = [run.get("conductivity_degrees_of_freedom") or math.inf for run in runs]
        mean, error, freedom = replica_mean(values, errors, freedoms)
        if error:
            lengths.append(BoxLength(length, mean, error, len(runs), freedom))
    if len(lengths) < LEAST_LENGTHS:
        raise EngineFailure(
            f"{len(lengths)} lengths have a conductivity with an error, and an extrapolation needs {LEAST_LENGTHS}; "
            "measure more steps, or more replicas"
        )
    return lengths


def _remark(lengths: Sequence[BoxLength], units: Units) -> str:
    """Return the boxes in one sentence."""
    boxes = ", ".join(
        f"{one.conductivity:.3g} +- {one.conductivity_error:.1g} at {one.length:.3g} {units.length}" for one in lengths
    )
    return f"Boxes with an imposed flux, in {units.conductivity}: {boxes}."


def _draw(path: Path, lengths: Sequence[BoxLength], found: Extrapolation, units: Units) -> None:
    """1/conductivity against 1/length with the straight line through them, down to an infinite box."""
    names = ("length", "conductivity", "conductivity_error")
    length, value, error = (np.array([getattr(one, name) for one in lengths]) for name in names)
    line = np.linspace(0, 1.05 / length[0], 2)
    with saved_figure(path) as figure:
        axes = figure.subplots()
        axes.plot(line, found.intercept + found.slope * line, color=BLUE, label="straight line")
        axes.errorbar(
            1 / length, 1 / value, yerr=2 * error / value**2, color=BLUE, fmt="o", capsize=3, label="boxes ± 2 s.e."
        )
        axes.errorbar(
            [0], [found.intercept], yerr=[2 * found.intercept_error], color=VERMILION, fmt="s", capsize=4,
            label="infinite box ± 2 s.e.",
        )  # fmt: skip
        axes.set_ylim(bottom=0)
        axes.set_xlabel(f"1 / length ({units.length}⁻¹)")
        axes.set_ylabel(f"1 / κ  (κ in {units.conductivity})")
        axes.set_title("Conductivity against the length of the box")
        axes.legend(loc="upper left")
