"""Tools that make and change the model: histogram, phases, what may move, cycles, states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from sophron.interfaces.rietveld import Background, Cycle, Freed
from sophron.records.errors import UserError, shown
from sophron.records.typed_json import to_json
from sophron.science.rietveld import request_validation
from sophron.science.rietveld.session.report import fit_numbers, phase_numbers, rounded
from sophron.science.rietveld.session.session import Histogram, Session, Weights
from sophron.science.rietveld.session.trajectory import Answer

PER_PHASE = frozenset({"scale", "cell", "size", "strain", "position", "u_iso", "occupancy", "preferred_orientation"})
PER_ATOM = frozenset({"position", "u_iso", "occupancy"})
MOST_CYCLES = 500


def project(session: Session) -> Answer:
    """What there is: pattern, phases, instrument, ties, engine and what it can free, parameters and states so far."""
    pattern, has = session.sample.pattern, session.engine.capabilities()
    x = pattern.two_theta_deg
    numbers = {
        "points": float(x.size),
        "low_deg": float(x[0]),
        "high_deg": float(x[-1]),
        "counts": session.sample.counts,
        "largest_intensity": float(pattern.intensity.max()),
        "smallest_intensity": float(pattern.intensity.min()),
    }
    details = {
        "pattern": pattern.name,
        "engine": session.engine.name,
        "groups": sorted(has.groups),
        "lacks": dict(has.lacks),
        "backgrounds": dict(has.backgrounds),
        "phases": [{"name": one.phase.name, "role": one.role} for one in session.sample.phases],
        "instrument": asdict(session.sample.instrument),
        "deviations": "of raw counts" if pattern.sigma is None else "in the file",
        "ties": [
            *map(list, dict.fromkeys((*session.sample.equal, *session.equal))),
            *(asdict(one) for one in session.sample.sums),
        ],
        "parameters": _values(session),
        "proposed_limits_deg": None if session.sample.limits_deg is None else list(session.sample.limits_deg),
        "in_model": list(session.phases),
        "free": to_json(session.free),
        "states": len(session.states),
    }
    hint = "add a histogram and the main phase, then release scale and background"
    if session.current is not None:
        hint = f"state {session.current.number} is the current one; release what is next, or look at it"
    return Answer(hint, numbers=numbers, details=details)


def _values(session: Session) -> dict[str, float | None]:
    """Values of the current state by name, its background apart."""
    values = {} if session.current is None else session.current.kept.state.values
    return {name: rounded(one) for name, one in values.items() if not name.startswith("background/")}


def histogram(
    session: Session,
    *,
    low_deg: float | None = None,
    high_deg: float | None = None,
    excluded_deg: list[list[float]] | None = None,
    background: str = "chebyshev",
    coefficients: int = 9,
) -> Answer:
    """Take the pattern into the model: 2 theta limits, ranges to leave out, background function and coefficients.

    Without limits those that the sample proposes hold. A later call changes them: the model starts anew from there.
    """
    proposed = session.sample.limits_deg
    x = session.sample.pattern.two_theta_deg
    ends = proposed or (float(x[0]), float(x[-1]))
    limits = (ends[0] if low_deg is None else low_deg, ends[1] if high_deg is None else high_deg)
    if not limits[0] < limits[1]:
        raise UserError(f"limits {limits[0]:g} to {limits[1]:g} degrees are no range; give the lower angle first")
    excluded = [*session.sample.excluded_deg, *(_range(one) for one in excluded_deg or [])]
    inside = (x >= limits[0]) & (x <= limits[1])
    if not inside.any():
        raise UserError(f"limits {limits[0]:g} to {limits[1]:g} degrees hold no point of the pattern; widen them")
    # A background begins at the lowest counts there are: the peaks stand on it.
    start = float(sorted(session.sample.pattern.intensity[inside])[int(inside.sum()) // 20])
    session.set_histogram(Histogram(limits, tuple(excluded), Background(background, coefficients, start)))
    numbers = {"low_deg": limits[0], "high_deg": limits[1], "points": float(inside.sum()), "background_start": start}
    return Answer("add a phase next" if not session.phases else "refine to see what it changes", numbers=numbers)


def _range(given: list[float]) -> tuple[float, float]:
    if len(given) != 2:
        raise UserError(f"excluded_deg: {shown(str(given))} is no range; give two angles")
    return given[0], given[1]


def phase(session: Session, name: str) -> Answer:
    """Add a phase of the sample to the model. A refined model starts anew from its values, coordinates apart."""
    session.add_phase(name)
    return Answer(f"release the scale of {name} and refine; nothing of it moves yet")


def remove_phase(session: Session, name: str) -> Answer:
    """Take a phase out of the model again."""
    session.remove_phase(name)
    return Answer("refine to have the model without it")


def release(session: Session, groups: list[str], phase: str | None = None, atom: str | None = None) -> Answer:
    """Free groups of parameters from the next cycle on, of one phase (or one of its atoms) or of all in the model."""
    found = freed_of(groups, session.phases, phase, atom)
    lacking = [one.group for one in found if one.group not in session.engine.capabilities().groups]
    if lacking:
        why = session.engine.capabilities().lacks.get(lacking[0], "it does not have it")
        raise UserError(f"{session.engine.name} cannot refine {lacking[0]}: {why}; hold it")
    session.release(found)
    return Answer("refine to use them", details={"free": to_json(session.free)})


def hold(session: Session, groups: list[str], reason: str, phase: str | None = None, atom: str | None = None) -> Answer:
    """Hold groups of parameters at their values from the next cycle on, and say why."""
    found = freed_of(groups, session.phases, phase, atom)
    session.hold(found, reason)
    return Answer("refine without them", decision=reason, details={"free": to_json(session.free)})


def set_parameters(session: Session, values: dict[str, float]) -> Answer:
    """Set parameters by name (`cell/FAP/a`, `profile_w`) before the next cycle."""
    known = {} if session.current is None else session.current.kept.state.values
    for name in values:
        if known and name not in known:
            raise UserError(f'there is no parameter "{shown(name)}"; project and residuals list names')
    session.values |= finite(values)
    return Answer("they hold from the next cycle on; release what should move away from them")


def tie(session: Session, names: list[str]) -> Answer:
    """Hold parameters equal from the next cycle on; the first one leads."""
    if len(names) < 2:
        raise UserError("equal: one parameter cannot be tied; give two names at least")
    session.equal = (*session.equal, tuple(names))
    return Answer("refine with the tie")


def weights(session: Session, kind: Weights) -> Answer:
    """Variances of the points: observed counts, calculated ones (unbiased at low counts), or those in the file."""
    session.set_weights(kind)
    return Answer("refine twice: the second cycle uses variances of the first")


def refine(session: Session, label: str = "cycle", cycles: int = 100) -> Answer:
    """One least-squares cycle with everything that is free; checked before the engine is asked.

    A cycle that diverges, fails or is out of time leaves the model as it was.
    """
    if not 1 <= cycles <= MOST_CYCLES:
        raise UserError(f"cycles: {cycles} is none of 1 to {MOST_CYCLES}")
    free = session.free
    cycle = session.refine(label, cycles)
    if cycle.fit is None:
        hint = f"{cycle.reason}; the model is as before: hold what was released last, or roll back"
        return Answer(hint, ok=False, free=free, ended=cycle.ended)
    details = _details(session, cycle)
    return Answer(_after(cycle), numbers=fit_numbers(cycle.fit), details=details, free=free, ended=cycle.ended)


def _after(cycle: Cycle) -> str:
    if cycle.ended == "unfinished":
        return "out of iterations; refine again"
    serious = [one for one in cycle.fit.flags if one.level != "info"] if cycle.fit is not None else []
    return f"{serious[0].code}: {serious[0].message}" if serious else "look at the plot before more is released"


def _details(session: Session, cycle: Cycle) -> dict[str, object]:
    state, fit = session.fitted()
    return {
        "state": state.number,
        "ended": cycle.ended,
        "free": to_json(state.free),
        "phases": [to_json(phase_numbers(fit, name)) for name in state.phases],
        "flags": [{"code": one.code, "level": one.level, "count": one.count} for one in fit.flags],
    }


def roll_back(session: Session, state: int | None = None) -> Answer:
    """Go back to a state by number, or to the one before the current; what was free on the way to it is free again."""
    reached = session.roll_back(state)
    numbers = {"state": float(reached.number)}
    details = {"free": to_json(session.free)}
    return Answer("change what is free before the next cycle", numbers=numbers, details=details)


def freed_of(groups: list[str], phases: tuple[str, ...], phase: str | None, atom: str | None) -> tuple[Freed, ...]:
    """What a list of groups means: one entry a phase for those that phases have. UserError for no known group."""
    if phase is not None and phase not in phases:
        raise UserError(f'the model has no phase "{shown(phase)}"; it has {", ".join(phases) or "none"}')
    found = []
    for group in groups:
        if group not in request_validation.GROUPS:
            raise UserError(
                f'"{shown(group)}" is nothing that can be free; known are {", ".join(request_validation.GROUPS)}'
            )
        if group in PER_PHASE:
            at = atom if group in PER_ATOM else None
            found += [Freed(group, one, at) for one in ([phase] if phase else phases)]
        else:
            found.append(Freed(group))
    return tuple(found)


def finite(values: Mapping[str, float]) -> dict[str, float]:
    """Values by name; UserError for one that is no finite number."""
    for name, value in values.items():
        if not np.isfinite(value):
            raise UserError(f"values: {value} for {shown(name)} is not finite; give a number")
    return dict(values)
