"""The screen kind: one pipeline over a library of guests, every step of it known before anything runs.

Read by every verb at start-up, so it imports nothing heavy; what runs a stage is named, not imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sophron.interfaces.kind import Definition, Kind, Question, StageKind
from sophron.kinds.host_guest.kind import EXECUTED, LEFT, conditions


def ranges(definitions: Mapping[str, Definition]) -> dict[str, Sequence[str]]:
    """Return `guest`: names in the library; `window` counts those of the pipeline."""
    return {
        "guest": list(definitions["tasks"]["guests"]),
        "window": [str(number) for number in range(definitions["produce"]["windows"])],
    }


def question(definitions: Mapping[str, Definition]) -> Question:
    """Return the strongest of the library's guests, and the ranking behind it."""
    return Question({"standard binding free energies": "kcal/mol (1 mol/l)"}, conditions(definitions))


def _execution(name: str, *before: str, wildcards: tuple[str, ...] = ("guest",)) -> StageKind:
    """Its definition holds its own file alone: an edited analysis repeats the analyses and no production."""
    return StageKind(
        name,
        depends_on=("tasks", *before),
        run="sophron.debate.trials.execute_stage_file:execute",
        schema="screen/execution",
        wildcards=wildcards,
        outputs=EXECUTED,
        engine="openmm",
    )


KIND = Kind(
    name="screen",
    about="Rank candidate guests of one host by predicted binding free energy, with a pipeline that a "
    "finished host_guest campaign made",
    rules="screen.smk",
    stages=(
        StageKind(
            "tasks",
            depends_on=(),
            run="sophron.debate.trials.trial_setup:tasks",
            schema="host_guest/tasks",
            wildcards=("guest",),
            outputs=LEFT,
        ),
        _execution("prepare"),
        _execution("equilibrate", "prepare"),
        _execution("produce", "prepare", "equilibrate", wildcards=("guest", "window")),
        _execution("analyse", "prepare", "equilibrate", "produce"),
        StageKind(
            "rank",
            depends_on=("analyse",),
            run="sophron.debate.screening.ranking:rank",
            schema="screen/rank",
            outputs={"ranking": "ranking.csv", "ranking_plot": "ranking.svg"},
            rederivable=True,
        ),
    ),
    ranges=ranges,
    question=question,
    report="sophron.kinds.screen.report_sections:sections",
)
