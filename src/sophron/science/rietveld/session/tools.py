"""The tools of a session by name, and the one way to call them: checked, answered with a hint, written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sophron.records.errors import UserError
from sophron.science.rietveld.session import looking, modelling, reporting
from sophron.science.rietveld.session.session import Session
from sophron.science.rietveld.session.trajectory import Answer

TOOLS: Mapping[str, Callable[..., Answer]] = {
    tool.__name__: tool
    for tool in (
        modelling.project,
        modelling.histogram,
        modelling.phase,
        modelling.remove_phase,
        modelling.release,
        modelling.hold,
        modelling.set_parameters,
        modelling.tie,
        modelling.weights,
        modelling.refine,
        modelling.roll_back,
        looking.fit_peak,
        looking.residuals,
        looking.get_pattern_plot,
        looking.get_zoomed_plot,
        looking.diagnose,
        reporting.note,
        reporting.report,
    )
}
"""Each is a function of a session and of plain arguments; its docstring is what an agent is told of it."""


def call(session: Session, name: str, arguments: Mapping[str, Any]) -> Answer:
    """What the tool `name` answers. What cannot be is an answer with `ok` false and one sentence; nothing raises."""
    try:
        answer = TOOLS[name](session, **arguments)
    except UserError as error:
        answer = Answer(str(error), ok=False)
    current = session.current
    version = "" if current is None else current.kept.state.version
    session.trajectory.append(name, arguments, answer, None if current is None else current.number, version)
    return answer
