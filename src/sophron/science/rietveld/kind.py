"""The rietveld kind: patterns are checked, refined by an agent, recomputed from the model it left, and compared.

Read by every verb at start-up, so it imports nothing heavy; what runs a stage is named, not imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sophron.interfaces.kind import AgentRule, Definition, Kind
from sophron.records.errors import UserError
from sophron.science.stage_of import stage_of

_PATTERN = ("pattern",)
_stage = partial(stage_of, "rietveld")


def ranges(definitions: Mapping[str, Definition]) -> dict[str, Sequence[str]]:
    """Values of the wildcard `pattern`: the names in `data.patterns`, in their order. UserError for one given twice."""
    names = [str(one["name"]) for one in definitions["data"]["patterns"]] if "data" in definitions else []
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f'stages.data.definition.patterns: two are called "{twice}"; give each its own name')
    return {"pattern": names}


KIND = Kind(
    name="rietveld",
    rules="rietveld.smk",
    stages=(
        _stage("data", wildcards=_PATTERN, outputs={"sample": "sample.json"}),
        _stage(
            "refine",
            "data",
            wildcards=_PATTERN,
            outputs={
                "structure": "structure.cif",
                "curves": "curves.npz",
                "pattern_plot": "pattern.png",
                "window_plot": "window.png",
                "report": "report.json",
                "trajectory": "trajectory.json",
            },
            agents=(AgentRule("refinement", "refine", _PATTERN),),
            builds_on=("refinement",),
        ),
        _stage("compare", "refine", outputs={"series_plot": "series.svg"}),
    ),
    ranges=ranges,
)
