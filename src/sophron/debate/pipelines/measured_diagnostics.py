"""Diagnostics that a pipeline does not write itself: measured by the harness from what production saved of its samples.

Each quantity names the arrays of `observables.npz` that it needs. A campaign lists the quantities that pipelines must
make measurable; those whose arrays are there are measured in any case.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.science.host_guest.sampling import observables

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sophron.science.estimators.correlated_series import Kept

    Arrays = Mapping[str, NDArray[Any]]
    Series = NDArray[np.float64]


@dataclass(frozen=True)
class Quantity:
    """What is measured. arrays: of `observables.npz` that it needs; about: what it is, under which names."""

    arrays: tuple[str, ...]
    about: str


QUANTITIES: Mapping[str, Quantity] = {
    "temperature": Quantity(("temperature_k",), "mean kinetic temperature of each window, `temperature_k`"),
    "energy_drift": Quantity(
        ("potential_kcal_per_mol", "time_ps"),
        "slope of the potential energy in each window, `energy_drift_kcal_per_mol_per_ns`, and its standard error; "
        "simulated time of all its runs, `sampled_ns`; means in the first and the last state, "
        "`end_potentials_kcal_per_mol`",
    ),
    "density": Quantity(("density_g_per_ml",), "mean density of each window in a box, `density_g_per_ml`"),
    "overlap": Quantity(
        ("reduced_potentials",),
        "overlap of each state with the next, from 0 to 0.5, `overlaps` and `minimum_overlap`; free energy of the last "
        "state less that of the first by neighbours (BAR), `chain_difference_kcal_per_mol`; whether samples of two "
        "states are distributed as their energies say, `ensemble_slope`, 1 if so, and its standard error",
    ),
    "autocorrelation": Quantity(
        ("reduced_potentials",),
        "samples worth one independent sample in each run, `inefficiencies`, and independent ones a state, `samples`",
    ),
    "blocks": Quantity(
        ("reduced_potentials",),
        "free energy along the chain from second halves of all runs less that from first halves, "
        "`block_difference_kcal_per_mol`, by neighbours (BAR)",
    ),
}
GAS_CONSTANT = 1.98720425864083e-3
"""kcal/mol/K"""
SHORTEST_RUN = 8
LEAST_SOLVED = 0.003
"""Overlap below which MBAR is not asked: its equations need not have an end."""


def about() -> str:
    """Return what production saves and what is measured of it, for the author of a pipeline."""
    form = (observables.__doc__ or "").strip()
    measured = "\n".join(
        f"- `{name}`: {each.about}; from {', '.join(each.arrays)}" for name, each in QUANTITIES.items()
    )
    return (
        f"{form}\n\n`sophron.science.host_guest.sampling.observables.save(Path(), state=..., ...)` writes it; so does "
        f"`numpy.savez`. From it the harness measures, and shows to the panel beside what the files say:\n\n{measured}"
        "\n\n`task.measured` lists those that this campaign requires: production must save the arrays that they need."
    )


def missing(folder: Path, required: Sequence[str], *, states: int | None = None) -> list[str]:
    """Return what a window lacks to be measured, all of it, a sentence each. states: least number of states."""
    if not required:
        return []
    try:
        arrays = observables.load(folder)
    except ValueError as error:
        return [str(error)]
    if not len(arrays["state"]):
        return []
    needed = dict.fromkeys(array for name in required for array in QUANTITIES[name].arrays)
    faults = [
        f"{observables.FILE_NAME} lacks {array}, which the harness needs for "
        + " and ".join(name for name in required if array in QUANTITIES[name].arrays)
        for array in needed
        if array not in arrays
    ]
    return [*faults, *_impossible(arrays, states)]


def _impossible(arrays: Arrays, states: int | None) -> Iterator[str]:
    """Arrays that no simulation writes."""
    values, reduced = arrays.get("temperature_k"), arrays.get(observables.PARTLY)
    if values is not None and len(values) > 1 and float(values.std()) == 0.0:
        yield "temperature_k does not scatter; save the kinetic temperature of each moment"
    if reduced is None:
        return
    if states is not None and reduced.shape[0] < states:
        yield f"reduced_potentials has {reduced.shape[0]} states, and the pipeline {states} windows"
    if int(arrays["state"].max()) >= reduced.shape[0] or int(arrays["state"].min()) < 0:
        yield f"state names states beyond the {reduced.shape[0]} of reduced_potentials"


def of_window(folder: Path) -> dict[str, object]:
    """Return what the samples of one window say, by the names of a stage's diagnostics; empty without arrays."""
    try:
        arrays = observables.load(folder)
    except ValueError:
        return {}
    found: dict[str, object] = {}
    for quantity in ("temperature_k", "density_g_per_ml"):
        if quantity in arrays and len(arrays[quantity]):
            found[quantity] = float(arrays[quantity].mean())
    if {"potential_kcal_per_mol", "time_ps"} <= arrays.keys() and len(arrays["state"]) > 2:
        found |= _drift(arrays)
    if "time_ps" in arrays and len(arrays["state"]):
        found["sampled_ns"] = _simulated_ns(arrays)
    return found


def _simulated_ns(arrays: Arrays) -> float:
    import numpy as np

    run = arrays.get("run", np.zeros(len(arrays["state"]), dtype=int))
    return 1e-3 * sum(float(arrays["time_ps"][run == one].max()) for one in np.unique(run))


def _drift(arrays: Arrays) -> dict[str, object]:
    """Slope of the energy over time, the mean over runs; its error counts the correlation of the samples."""
    import numpy as np

    from sophron.science.estimators.correlated_series import statistical_inefficiency

    slopes, errors = [], []
    for chosen in _runs(arrays):
        time_ns, energy = arrays["time_ps"][chosen] * 1e-3, arrays["potential_kcal_per_mol"][chosen]
        spread = float(((time_ns - time_ns.mean()) ** 2).sum())
        if len(energy) < 4 or spread == 0.0:
            continue
        slope = float(((time_ns - time_ns.mean()) * (energy - energy.mean())).sum()) / spread
        rest = energy - energy.mean() - slope * (time_ns - time_ns.mean())
        inefficiency = max(1.0, statistical_inefficiency(rest)) if rest.std() > 0 else 1.0
        slopes.append(slope)
        errors.append(math.sqrt(float(rest.var()) * inefficiency / spread))
    if not slopes:
        return {}
    return {
        "energy_drift_kcal_per_mol_per_ns": float(np.mean(slopes)),
        "energy_drift_error_kcal_per_mol_per_ns": math.hypot(*errors) / len(errors),
    }


def _runs(arrays: Arrays) -> Iterator[Any]:
    """Samples of each run in each state, as masks."""
    import numpy as np

    run = arrays.get("run", np.zeros(len(arrays["state"]), dtype=int))
    for state in np.unique(arrays["state"]):
        for one in np.unique(run):
            chosen = (arrays["state"] == state) & (run == one)
            if chosen.any():
                yield chosen


@dataclass(frozen=True)
class Sampled:
    """One run of one state. reduced: shape (states, samples); kept: independent ones, None of too short a run.

    potential: in kcal/mol, None where it was not saved.
    """

    state: int
    reduced: Series
    kept: Kept | None
    potential: Series | None = None

    @property
    def independent(self) -> Series:
        """Reduced potentials of independent samples; of all if the run is too short to tell."""
        return self.reduced[:, self.kept.indices] if self.kept else self.reduced


@dataclass(frozen=True)
class Neighbours:
    """A state and the next. difference: of free energies, in kT; half: that of second halves less that of first.

    slope: see `bar.ensemble_slope`.
    """

    overlap: float
    difference: float | None = None
    half: float | None = None
    slope: tuple[float, float] | None = None


def of_chain(folders: Sequence[Path], temperature_k: float) -> dict[str, object]:
    """Return overlap, autocorrelation and blocks of all windows together, by the names of a stage's diagnostics.

    Empty if reduced potentials are missing, or do not fit each other. A state without samples has no overlap.
    """
    runs = list(_sampled(folders))
    if not runs or len({len(run.reduced) for run in runs}) > 1:
        return {}
    pairs = list(_pairs(runs))
    states = sorted({run.state for run in runs})
    found: dict[str, object] = {
        "window_count": len(states),
        "overlaps": [pair.overlap for pair in pairs],
        "inefficiencies": [run.kept.inefficiency for run in runs if run.kept],
        "samples": [sum(len(run.kept.indices) for run in runs if run.kept and run.state == state) for state in states],
    }
    if pairs:
        found["minimum_overlap"] = min(pair.overlap for pair in pairs)
    halves = [pair.half for pair in pairs if pair.half is not None]
    if pairs and len(halves) == len(pairs):
        found["block_difference_kcal_per_mol"] = GAS_CONSTANT * temperature_k * sum(halves)
    steps = [pair.difference for pair in pairs if pair.difference is not None]
    if steps and len(steps) == len(states) - 1:
        found["chain_difference_kcal_per_mol"] = GAS_CONSTANT * temperature_k * sum(steps)
    effective = _effective(runs, pairs)
    return found | _slope(runs, pairs) | _ends(runs, states) | ({"effective_samples": effective} if effective else {})


def _slope(runs: Sequence[Sampled], pairs: Sequence[Neighbours]) -> dict[str, object]:
    """Return the mean slope of all neighbours, or that of first and last state where it is told more exactly.

    Neighbours that are nearly equal tell none, and ends that are far apart neither.
    """
    from sophron.science.estimators.bar import ensemble_slope

    last = len(runs[0].reduced) - 1
    found = [pair.slope for pair in pairs if pair.slope is not None]
    weight = sum(error**-2 for _, error in found)
    known = [(sum(slope * error**-2 for slope, error in found) / weight, weight**-0.5)] if found else []
    ends = [[run.independent for run in runs if run.state == end] for end in (0, last)]
    if all(ends) and last > 1 and all(_known(each, at) for part in ends for each in part for at in (0, last)):
        far = ensemble_slope(*(_towards(part, 0, last) for part in ends))
        known += [far] if far else []
    if not known:
        return {}
    slope, error = min(known, key=lambda each: each[1])
    return {"ensemble_slope": slope, "ensemble_slope_error": error}


def _ends(runs: Sequence[Sampled], states: Sequence[int]) -> dict[str, object]:
    """Mean potential energy in the first and the last state that was sampled."""
    import numpy as np

    parts = [[run.potential for run in runs if run.state == end] for end in (states[0], states[-1])]
    known = [[each for each in part if each is not None] for part in parts]
    if not all(known):
        return {}
    return {"end_potentials_kcal_per_mol": [float(np.concatenate(part).mean()) for part in known]}


def _sampled(folders: Sequence[Path]) -> Iterator[Sampled]:
    """All runs; none if one window cannot be read."""
    import numpy as np

    from sophron.science.estimators.correlated_series import independent

    found = []
    for folder in folders:
        try:
            arrays = observables.load(folder)
        except ValueError:
            return
        if not len(arrays["state"]):
            continue
        if observables.PARTLY not in arrays or list(_impossible(arrays, None)):
            return
        for chosen in _runs(arrays):
            reduced, state = arrays[observables.PARTLY][:, chosen], int(arrays["state"][chosen][0])
            slow = [reduced[at] - reduced[state] for at in (state - 1, state + 1) if _known(reduced, at)]
            long = bool(slow) and reduced.shape[1] >= SHORTEST_RUN
            potential = arrays["potential_kcal_per_mol"][chosen] if "potential_kcal_per_mol" in arrays else None
            found.append(Sampled(state, reduced, independent(np.stack(slow)) if long else None, potential))
    yield from found


def _known(reduced: Series, state: int) -> bool:
    return 0 <= state < len(reduced) and math.isfinite(float(reduced[state].sum()))


def _effective(runs: Sequence[Sampled], pairs: Sequence[Neighbours]) -> list[float]:
    """N_eff of each state by MBAR over independent samples; nothing where the chain is broken, or in two legs."""
    import numpy as np

    from sophron.science.estimators.pymbar_solver import solve

    states = range(len(runs[0].reduced))
    steps = [pair.difference for pair in pairs if pair.difference is not None and pair.overlap >= LEAST_SOLVED]
    parts = [[run.reduced[:, run.kept.indices] for run in runs if run.kept and run.state == state] for state in states]
    if len(steps) < len(states) - 1 or not all(parts):
        return []
    solution = solve([np.concatenate(each, axis=1) for each in parts], np.cumsum([0.0, *steps]))
    return list(solution.effective_samples) if solution else []


def _pairs(runs: Sequence[Sampled]) -> Iterator[Neighbours]:
    """Yield what neighbouring states have in common.

    A break between two legs is no pair; a state that nobody sampled overlaps with nothing.
    """
    from sophron.science.estimators.bar import compare, ensemble_slope

    for state, after in pairwise(range(len(runs[0].reduced))):
        here = [run.reduced for run in runs if run.state == state]
        there = [run.reduced for run in runs if run.state == after]
        apart = [[run.independent for run in runs if run.state == one] for one in (state, after)]
        sampled = [*here, *there]
        if not sampled or not all(_known(each, at) for each in sampled for at in (state, after)):
            continue
        if here and there:
            whole = compare(_towards(here, state, after), _towards(there, state, after))
            slope = ensemble_slope(*(_towards(each, state, after) for each in apart))
            yield Neighbours(whole.overlap, whole.difference, _half(here, there, state, after), slope)
        else:
            yield Neighbours(0.0)


def _towards(parts: Sequence[Series], state: int, after: int) -> Series:
    import numpy as np

    return np.concatenate([reduced[after] - reduced[state] for reduced in parts])


def _half(here: Sequence[Series], there: Sequence[Series], state: int, after: int) -> float | None:
    from sophron.science.estimators.bar import compare

    found = []
    for half in (0, 1):
        cut = [[_halved(each, half) for each in parts] for parts in (here, there)]
        if any(not each.shape[1] for parts in cut for each in parts):
            return None
        found.append(compare(_towards(cut[0], state, after), _towards(cut[1], state, after)).difference)
    return found[1] - found[0]


def _halved(reduced: Series, half: int) -> Series:
    middle = reduced.shape[1] // 2
    return reduced[:, :middle] if half == 0 else reduced[:, middle:]


STATED_HIGHER = {"minimum_overlap": (2.0, 0.03)}
"""Diagnostic that is stated too well if it is so many times the measured one, and so much more than it."""
STATED_LOWER = {"block_difference_kcal_per_mol": (3.0, 1.0)}
"""The same of what should be small, by its size."""


def tolerances() -> str:
    """Return how far what is stated may be from what is measured, in words."""
    high = [
        f"{name} more than {times:g} times the measured one and {more:g} above it"
        for name, (times, more) in STATED_HIGHER.items()
    ]
    low = [
        f"{name} less than 1/{times:g} of the measured one and {more:g} below it"
        for name, (times, more) in STATED_LOWER.items()
    ]
    return "; ".join([*high, *low])


def contradictions(said: Mapping[str, object], measured: Mapping[str, object]) -> list[str]:
    """Return a sentence for each diagnostic that a file states better than its own samples show."""
    return [
        f"it states {name} {stated:.3g}, and its own samples show {shown:.3g}"
        for name, (times, more) in (*STATED_HIGHER.items(), *STATED_LOWER.items())
        if isinstance(stated := said.get(name), int | float)
        and isinstance(shown := measured.get(name), int | float)
        and _better(name, abs(float(stated)), abs(float(shown)), times, more)
    ]


def _better(name: str, stated: float, shown: float, times: float, more: float) -> bool:
    good, bad = (stated, shown) if name in STATED_HIGHER else (shown, stated)
    return good > times * bad and good > bad + more
