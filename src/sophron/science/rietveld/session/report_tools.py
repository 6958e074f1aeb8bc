"""Tools that end a session: what was decided, and the numbers of a report as the model has them."""

from __future__ import annotations

from typing import Any

from sophron.records.errors import UserError
from sophron.science.rietveld.session import model_files
from sophron.science.rietveld.session.rounding import cell, fit_numbers, phase_numbers, rounded
from sophron.science.rietveld.session.session import Reached, Session
from sophron.science.rietveld.session.trajectory import Answer, freed_data

LONGEST = 600
INTEGERS = ("observations", "variables")


def note(session: Session, text: str) -> Answer:
    """Write down a decision and what it rests on; it stands in the trajectory."""
    del session
    if not text.strip() or len(text) > LONGEST:
        raise UserError(f"text: {len(text)} characters are no decision; write 1 to {LONGEST}")
    return Answer("noted", decision=text.strip())


def report(session: Session) -> Answer:
    """The fields of the report that are numbers, for the current state; its model is kept for whoever recomputes."""
    state, fit = session.fitted()
    model_files.write(session, state)
    fields = {
        "pattern": session.sample.pattern.name,
        "engine": session.engine.name,
        "engine_version": state.kept.state.version,
        "state": state.number,
        "converged": state.ended == "converged",
        "fit": _fit(session, state),
        "phases": _phases(session, state),
        "refined": {
            "count": fit.variables,
            "groups": freed_data(state.free),
            "parameters": [
                {
                    "name": one.name,
                    "value": rounded(one.value),
                    "esd": rounded(one.esd),
                    "esd_counting": rounded(one.esd_counting),
                }
                for one in fit.parameters
            ],
        },
        "held": _held(session, state),
        "decisions": [one["decision"] for one in session.trajectory.calls if one["decision"]],
        "plots": _plots(session),
    }
    return Answer("add what you conclude; change no number", details={"report": fields})


def _fit(session: Session, state: Reached) -> dict[str, Any]:
    _, fit = session.fitted()
    numbers: dict[str, Any] = dict(fit_numbers(fit))
    numbers |= {name: int(numbers[name]) for name in INTEGERS}
    background, limits = state.kept.state.background, state.kept.state.limits_deg
    return {
        **numbers,
        "rwp_engine": fit.rwp.engine,
        "weights": state.weights,
        "limits_deg": list(limits),
        "background": {"kind": background.kind, "count": background.count},
    }


def _phases(session: Session, state: Reached) -> list[dict[str, Any]]:
    _, fit = session.fitted()
    values = dict(state.kept.state.values)
    found = []
    for one in session.sample.phases:
        name = one.phase.name
        there = name in state.phases
        numbers = phase_numbers(fit, name) if there else _absent(session, name)
        kept = ("weight_fraction", "weight_fraction_esd", "significance", "r_f_percent", "reflections")
        found.append(
            {
                "name": name,
                "role": one.role,
                "in_model": there,
                "claimed": one.role == "main" and there,
                **{key: numbers[key] for key in kept},
                "cell": cell(fit, values, name) if there else {},
            }
        )
    return found


def _absent(session: Session, name: str) -> dict[str, Any]:
    """A phase that was tried and taken out again keeps the significance that it had last."""
    tried = [one.fit for one in session.states if one.fit is not None and name in one.phases]
    significance = phase_numbers(tried[-1], name)["significance"] if tried else None
    nothing = dict.fromkeys(("weight_fraction", "weight_fraction_esd", "r_f_percent", "reflections"))
    return {**nothing, "significance": significance}


def _held(session: Session, state: Reached) -> list[dict[str, Any]]:
    free = {one.group for one in state.free}
    said = [
        {"group": group, "phase": phase, "reason": reason}
        for (group, phase), reason in session.reasons.items()
        if not any(one.group == group and one.phase == phase for one in state.free)
    ]
    named = {one["group"] for one in said}
    others = sorted(session.engine.capabilities().groups - free - named)
    return [*said, *({"group": group, "phase": None, "reason": "never released"} for group in others)]


def _plots(session: Session) -> list[dict[str, Any]]:
    shown = [one for one in session.trajectory.calls if one["plot"] is not None]
    return [
        {
            **{key: one["plot"][key] for key in ("low_deg", "high_deg", "whole")},
            "state": one["state"],
            "reading": one["hint"],
        }
        for one in shown
    ]
