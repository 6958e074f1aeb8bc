"""Stage compare: test whether all backends give one radius of gyration; state the test's power and each wall time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import numpy as np

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult, UpstreamStep
from sophron.records import documents
from sophron.records.digests import step_name
from sophron.records.typed_json import from_json, to_json
from sophron.science.chain_conformation.execution_backends import WAYS, Ran, Way
from sophron.science.chain_conformation.gyration import Radius, radius
from sophron.science.estimators.correlated_series import series_mean
from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.statistical_power import detectable_shift, power
from sophron.science.estimators.statistics import Homogeneity, homogeneity, pooled_mean, t_interval, t_quantile
from sophron.science.figures import BLUE, GREEN, VERMILION, saved_figure

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Series = NDArray[np.float64]


@dataclass(frozen=True)
class Agreement:
    """The verdict on independent values, as the result has it; the value is None if it is refused.

    Names are those of `Homogeneity`.
    agree: None if a shift as large as the signed one could not have been found, or nothing could be tested.
    """

    radius_of_gyration: float | None
    radius_of_gyration_error: float | None
    interval_low: float | None
    interval_high: float | None
    agree: bool | None
    refused: bool
    refusal: str | None
    chi2: float | None
    degrees_of_freedom: int
    f_statistic: float | None
    error_degrees_of_freedom: float | None
    p_value: float | None
    power: float | None
    detectable_shift: float | None
    units: str = "sigma"


@dataclass(frozen=True)
class SetRow:
    """One set in the result: value, where it ran, wall times in s and their ratio to those of the first set."""

    stage: str
    radius_of_gyration: float
    radius_of_gyration_error: float | None
    error_degrees_of_freedom: float | None
    effective_samples: float
    equal_to: str | None
    scheduler: str | None
    pilot: str | None
    jobs: tuple[str, ...]
    hosts: tuple[str, ...]
    ranks: int
    lammps: tuple[str, ...]
    wall_s: float
    engine_s: float
    wall_ratio: float
    wall_ratio_error: float | None
    engine_ratio: float


def run(ctx: StepContext) -> StepResult:
    """Check the evidence, test homogeneity, pool; draws `sets.svg`.

    Sets that are equal to the last bit are one sample and count once: with the others they would add agreement that
    nobody measured. If the test rejects, or a set has no error, the value is refused.
    EngineFailure if the evidence contradicts.
    """
    sets = [RunSet.of(stage, steps) for stage, steps in ctx.upstream.items()]
    check_run_sets(sets)
    found = [radius([series_mean(one.squared) for one in each.runs]) for each in sets]
    twin = twins(sets)
    distinct = [one for one, other in zip(found, twin, strict=True) if other is None]
    result, test = decide(distinct, ctx.definition["significance"], ctx.definition["shift"])
    rows = [
        _row(each, one, sets[0], None if other is None else sets[other].way.stage)
        for each, one, other in zip(sets, found, twin, strict=True)
    ]
    path = ctx.workdir / "sets.svg"
    _draw(path, rows, result, test)
    about = {
        "distinct_sets": len(distinct),
        "replicas": len(sets[0].runs),
        "took_turns": took_turns(sets),
        "sets": to_json(rows),
    }
    return StepResult(asdict(result) | about, {"sets_plot": path}, {"numpy": np.__version__})


def twins(sets: Sequence[RunSet]) -> list[int | None]:
    """For each set the index of an earlier one with the same series, bit for bit; None if there is none."""
    return [
        next((other for other in range(place) if one.same_series(sets[other])), None) for place, one in enumerate(sets)
    ]


def decide(values: Sequence[Radius], significance: float, shift: float) -> tuple[Agreement, Homogeneity | None]:
    """Return the verdict on independent values, as part of the typed result, and the test behind it, if there is one.

    shift: relative shift of one value that values must be able to show, to agree. One value alone, all sets
    being equal to the last bit, agrees with itself, and any shift would have shown.
    """
    errors = [one.error for one in values if one.error]
    if len(errors) < len(values):
        return _without_error(len(values) - len(errors), len(values)), None
    numbers, freedoms = [one.value for one in values], [one.degrees_of_freedom or math.inf for one in values]
    test, pooled = homogeneity(numbers, errors, freedoms), pooled_mean(numbers, errors, freedoms)
    half = t_quantile(pooled.degrees_of_freedom or math.inf) * pooled.error
    same, several = test.p_value >= significance, len(values) > 1
    detectable = detectable_shift(errors, significance, freedoms=freedoms) / pooled.value if several else 0.0
    result = Agreement(
        radius_of_gyration=pooled.value if same else None,
        radius_of_gyration_error=pooled.error if same else None,
        interval_low=pooled.value - half if same else None,
        interval_high=pooled.value + half if same else None,
        agree=False if not same else True if detectable <= shift else None,
        refused=not same,
        refusal=None if same else str(_disagreement(test, significance)),
        chi2=test.chi2,
        degrees_of_freedom=test.degrees_of_freedom,
        f_statistic=test.f_statistic,
        error_degrees_of_freedom=test.error_degrees_of_freedom,
        p_value=test.p_value,
        power=power(errors, shift * pooled.value, significance, freedoms) if several else 1.0,
        detectable_shift=detectable,
    )
    return result, test


def _disagreement(test: Homogeneity, significance: float) -> Refusal:
    count = test.degrees_of_freedom + 1
    sentence = f"the {count} values differ with {_statistic(test)} below {significance:g}; they are not pooled"
    return Refusal(Reason.DISAGREEMENT, sentence)


def _statistic(test: Homogeneity) -> str:
    if test.error_degrees_of_freedom is None:
        return f"chi-square {test.chi2:.3g} on {test.degrees_of_freedom} degrees of freedom, p = {test.p_value:.2g}"
    freedoms = f"{test.degrees_of_freedom} and {test.error_degrees_of_freedom:.3g}"
    return f"F = {test.f_statistic:.3g} on {freedoms} degrees of freedom, p = {test.p_value:.2g}"


def _without_error(lacking: int, count: int) -> Agreement:
    """The refusal if sets have no error: they are neither tested nor pooled."""
    sentence = (
        f"{lacking} of {count} sets are too short for an error of their radius, so nothing can be compared; sample "
        "more steps, or more replicas"
    )
    return Agreement(
        radius_of_gyration=None,
        radius_of_gyration_error=None,
        interval_low=None,
        interval_high=None,
        agree=None,
        refused=True,
        refusal=str(Refusal(Reason.NO_ERROR, sentence)),
        chi2=None,
        degrees_of_freedom=count - 1,
        f_statistic=None,
        error_degrees_of_freedom=None,
        p_value=None,
        power=None,
        detectable_shift=None,
    )


def _row(each: RunSet, value: Radius, first: RunSet, twin: str | None) -> SetRow:
    places = [run.ran.placement for run in each.runs]
    wall, engine = ratio(each, first), ratio(each, first, "engine_s")
    return SetRow(
        stage=each.way.stage,
        radius_of_gyration=value.value,
        radius_of_gyration_error=value.error,
        error_degrees_of_freedom=value.degrees_of_freedom,
        effective_samples=sum(run.result.effective_samples for run in each.runs),
        equal_to=twin,
        scheduler=_only([place.scheduler for place in places]),
        pilot=_only([place.pilot for place in places]),
        jobs=tuple(sorted({place.job for place in places if place.job})),
        hosts=tuple(sorted({place.host for place in places if place.host})),
        ranks=min(run.ran.ranks for run in each.runs),
        lammps=tuple(sorted({run.ran.lammps for run in each.runs})),
        wall_s=sum(run.ran.wall_s for run in each.runs),
        engine_s=sum(run.ran.engine_s for run in each.runs),
        wall_ratio=wall.value,
        wall_ratio_error=wall.error,
        engine_ratio=engine.value,
    )


def _only(names: Sequence[str | None]) -> str | None:
    """The names without repeats, in one text; None if there are none."""
    return ", ".join(sorted({name for name in names if name})) or None


def _draw(path: Path, rows: Sequence[SetRow], result: Agreement, test: Homogeneity | None) -> None:
    """Each set with two standard errors, and the pooled value as a band if there is one."""
    places = np.arange(len(rows))
    values = np.array([row.radius_of_gyration for row in rows])
    errors = np.array([row.radius_of_gyration_error or 0.0 for row in rows])
    with saved_figure(path, height=3.2) as figure:
        axes = figure.subplots()
        if (pooled := result.radius_of_gyration) is not None and result.interval_low and result.interval_high:
            axes.axhspan(result.interval_low, result.interval_high, color=GREEN, alpha=0.2, linewidth=0)
            axes.axhline(pooled, color=GREEN, linestyle="--", label="pooled, 95 % interval")
        colour = BLUE if result.agree else VERMILION
        axes.errorbar(places, values, yerr=2 * errors, fmt="o", color=colour, capsize=4, label="set ± 2 s.e.")
        axes.set_xticks(places, [row.stage.removeprefix("sample_") for row in rows])
        axes.set_xlim(-0.5, len(rows) - 0.5)
        axes.set_ylabel("radius of gyration (\N{GREEK SMALL LETTER SIGMA})")
        axes.set_title(_statistic(test) if test else "not compared: a set has no error")
        axes.legend(loc="best")


SHARED = ("seed", "start_sha256", "temperature_target", "samples")
"""What runs of the same replica have in common, whatever the way."""


@dataclass(frozen=True)
class Sampled:
    """Of the result of a run (`chain_conformation/sample.schema.yaml`), what sets are compared by."""

    seed: int
    start_sha256: str
    temperature_target: float
    samples: int
    effective_samples: float


@dataclass(frozen=True)
class Run:
    """One finished run: its step, its typed result, its `ran.json`, its series of squared radii."""

    name: str
    result: Sampled
    ran: Ran
    squared: Series


@dataclass(frozen=True)
class RunSet:
    """All runs of one way, in order of replicas."""

    way: Way
    runs: Sequence[Run]

    @classmethod
    def of(cls, stage: str, steps: Sequence[UpstreamStep]) -> Self:
        """From the finished steps of a stage."""
        runs = []
        for step in steps:
            with np.load(step.files["series"]) as arrays:
                squared = arrays["squared_radius"]
            ran = from_json(Ran, documents.load_json(step.files["ran"]))
            runs.append(Run(step_name(stage, step.wildcards), from_json(Sampled, step.result), ran, squared))
        return cls(WAYS[stage], runs)

    def same_series(self, other: RunSet) -> bool:
        """Return whether all series are equal to the last bit: one sample, then, and not two."""
        return all(np.array_equal(a.squared, b.squared) for a, b in zip(self.runs, other.runs, strict=True))


def check_run_sets(sets: Sequence[RunSet]) -> None:
    """Raise EngineFailure if a run was not executed as its stage claims, or if runs had another start or seed."""
    for one in sets:
        for run in one.runs:
            _check_record(one.way, run)
    for runs in zip(*(one.runs for one in sets), strict=True):
        for name in SHARED:
            values = [getattr(run.result, name) for run in runs]
            odd = next((number for number, value in enumerate(values) if value != values[0]), None)
            if odd:
                raise EngineFailure(
                    f"{runs[odd].name} and {runs[0].name} differ in {name} ({values[odd]}, {values[0]}); "
                    "only runs from one start with one seed are compared"
                )


def _check_record(way: Way, run: Run) -> None:
    contradiction = way.unlike(run.ran)
    if run.ran.step != run.name:
        contradiction = f"its record is that of {run.ran.step}"
    if contradiction:
        raise EngineFailure(
            f"{run.name} claims to run {way.claim}, but {contradiction}; remove its folders below results and scratch "
            f"and run it again: {way.command}"
        )


@dataclass(frozen=True)
class Ratio:
    """Geometric mean over replicas of paired wall times, and the standard error of it; None for one replica."""

    value: float
    error: float | None


def ratio(one: RunSet, other: RunSet, key: str = "wall_s") -> Ratio:
    """Time of `one` over that of `other`, run by run of the same replica: what the machine does slowly cancels."""
    logs = [math.log(getattr(a.ran, key) / getattr(b.ran, key)) for a, b in zip(one.runs, other.runs, strict=True)]
    value = math.exp(sum(logs) / len(logs))
    return Ratio(value, value * t_interval(logs).standard_error if len(logs) > 1 else None)


def took_turns(sets: Sequence[RunSet]) -> bool:
    """Return whether the runs came one after another, each round of them with one run of every set.

    Times that were not taken so measure the machine's other load as much as the way; clocks are those of the hosts.
    """
    runs = sorted(
        (datetime.fromisoformat(run.ran.started), datetime.fromisoformat(run.ran.ended), one.way.stage)
        for one in sets
        for run in one.runs
    )
    apart = all(before[1] <= after[0] for before, after in pairwise(runs))
    stages = [stage for _, _, stage in runs]
    rounds = [stages[i : i + len(sets)] for i in range(0, len(stages), len(sets))]
    return apart and all(len(set(one)) == len(sets) for one in rounds)
