"""The tools of a session by name, and the one way to call them: checked, answered with a hint, written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sophron.records.errors import UserError
from sophron.science.rietveld.session import inspection_tools, model_tools, report_tools
from sophron.science.rietveld.session.session import Session
from sophron.science.rietveld.session.trajectory import Answer

TOOLS: Mapping[str, Callable[..., Answer]] = {
    tool.__name__: tool
    for tool in (
        model_tools.project,
        model_tools.histogram,
        model_tools.phase,
        model_tools.remove_phase,
        model_tools.release,
        model_tools.hold,
        model_tools.set_parameters,
        model_tools.tie,
        model_tools.weights,
        model_tools.refine,
        model_tools.roll_back,
        inspection_tools.fit_peak,
        inspection_tools.residuals,
        inspection_tools.get_pattern_plot,
        inspection_tools.get_zoomed_plot,
        inspection_tools.diagnose,
        report_tools.note,
        report_tools.report,
    )
}
"""Each is a function of a session and of plain arguments; its docstring is what an agent is told of it."""


def call(session: Session, name: str, arguments: Mapping[str, Any]) -> Answer:
    """Return what the tool `name` answers.

    What cannot be is an answer with `ok` false and one sentence; nothing raises.
    """
    try:
        answer = TOOLS[name](session, **arguments)
    except UserError as error:
        answer = Answer(str(error), ok=False)
    current = session.current
    version = "" if current is None else current.kept.state.version
    session.trajectory.append(name, arguments, answer, None if current is None else current.number, version)
    return answer
