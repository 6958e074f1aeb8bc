"""Tools that end a session: what was decided, and the numbers of a report as the model has them."""

from __future__ import annotations

from dataclasses import asdict

from sophron.interfaces.rietveld import Fit, Group, Parameter
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json, to_json
from sophron.science.rietveld.session import model_files
from sophron.science.rietveld.session.report import (
    DIGITS,
    FitNumbers,
    HeldGroup,
    Reading,
    Refined,
    Report,
    ReportedPhase,
    cell,
    fit_numbers,
    phase_numbers,
    rounded,
)
from sophron.science.rietveld.session.sample import GivenPhase
from sophron.science.rietveld.session.session import Reached, Session
from sophron.science.rietveld.session.trajectory import Answer

LONGEST = 600


def note(session: Session, text: str) -> Answer:
    """Write down a decision and what it rests on; it stands in the trajectory."""
    del session
    if not text.strip() or len(text) > LONGEST:
        raise UserError(f"text: {len(text)} characters are no decision; write 1 to {LONGEST}")
    return Answer("noted", decision=text.strip())


def report(session: Session) -> Answer:
    """The fields of the report that are numbers, for the current state; its model is kept for whoever recomputes.

    A state that further cycles move is refined on until nothing moves, and handed back: look at it, and call again.
    """
    current, _ = session.fitted()
    if session.settle() is not current:
        return _handed_back(session, current)
    state, fit = session.fitted()
    model_files.write(session, state)
    made = Report(
        pattern=session.sample.pattern.name,
        engine=session.engine.name,
        engine_version=state.kept.state.version,
        state=state.number,
        converged=state.ended == "converged",
        fit=_fit(fit, state),
        phases=tuple(_phase(session, state, given) for given in session.sample.phases),
        refined=Refined(fit.variables, state.free, tuple(_rounded(one) for one in fit.parameters)),
        held=tuple(_held(session, state)),
        decisions=tuple(one.decision for one in session.trajectory.calls if one.decision),
        plots=tuple(_plots(session)),
    )
    return Answer("add what you conclude; change no number", details={"report": to_json(made)})


def _handed_back(session: Session, before: Reached) -> Answer:
    """What is said instead of a report: nobody looked at the state that the model came to rest in. A cycle."""
    state, fit = session.fitted()
    hint = (
        f"one more cycle moved state {before.number} by more than half a standard deviation, so it was refined on to "
        f"state {state.number}: look at that one as a whole and in its worst windows, diagnose, and call report again"
    )
    numbers, details = fit_numbers(fit), {"state": state.number}
    return Answer(hint, ok=False, numbers=numbers, details=details, free=state.free, ended=state.ended)


def _rounded(one: Parameter) -> Parameter:
    return Parameter(one.name, float(f"{one.value:.{DIGITS}g}"), rounded(one.esd), rounded(one.esd_counting))


def _fit(fit: Fit, state: Reached) -> FitNumbers:
    numbers = fit_numbers(fit)
    background, limits = state.kept.state.background, state.kept.state.limits_deg
    about = {
        "observations": fit.observations,
        "variables": fit.variables,
        "rwp_engine": fit.rwp.engine,
        "weights": state.weights,
        "limits_deg": limits,
        "background": asdict(background),
    }
    return from_json(FitNumbers, {**numbers, **about})


def _phase(session: Session, state: Reached, given: GivenPhase) -> ReportedPhase:
    """A phase of the sample; one that was tried and taken out again keeps the significance that it had last."""
    name = given.phase.name
    there = name in state.phases
    tried = [one.fit for one in session.states if one.fit is not None and name in one.phases]
    fit = state.fit if there else tried[-1] if tried else None
    numbers = phase_numbers(fit, name) if fit else None
    kept = numbers if there else None
    return ReportedPhase(
        name=name,
        role=given.role,
        in_model=there,
        claimed=given.role == "main" and there,
        weight_fraction=kept.weight_fraction if kept else None,
        weight_fraction_esd=kept.weight_fraction_esd if kept else None,
        significance=numbers.significance if numbers else None,
        r_f_percent=kept.r_f_percent if kept else None,
        reflections=kept.reflections if kept else None,
        cell=cell(fit, state.kept.state.values, name) if fit and there else {},
    )


def _held(session: Session, state: Reached) -> list[HeldGroup]:
    free = {one.group for one in state.free}
    said = [
        HeldGroup(group, phase, reason)
        for (group, phase), reason in session.reasons.items()
        if not any(one.group == group and one.phase == phase for one in state.free)
    ]
    named = {one.group for one in said}
    others = sorted(session.engine.capabilities().groups - free - named)
    return [*said, *(HeldGroup(group, None, _why_held(session, group)) for group in others)]


def _why_held(session: Session, group: Group) -> str:
    """Why a group is held of which the agent said nothing: cycles that were rolled back may have had it free."""
    freed = [str(one.number) for one in session.states if any(each.group == group for each in one.free)]
    return f"free in state {', '.join(freed)}, not in this one" if freed else "never released"


def _plots(session: Session) -> list[Reading]:
    shown = [(one, one.plot) for one in session.trajectory.calls if one.plot is not None]
    return [Reading(plot.low_deg, plot.high_deg, plot.whole, call.state, call.hint) for call, plot in shown]
