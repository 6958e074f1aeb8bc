"""The rietveld kind: patterns are checked, refined by an agent, recomputed from the model it left, and compared.

Read by every verb at start-up, so it imports nothing heavy; what runs a stage is named, not imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from sophron.interfaces.kind import AgentRule, Definition, Kind, Question, stage_of
from sophron.records.errors import UserError
from sophron.science.rietveld import batches

_PATTERN = ("pattern",)
_ENGINE = "data.engine"
_stage = partial(stage_of, "rietveld")


def ranges(definitions: Mapping[str, Definition]) -> dict[str, Sequence[str]]:
    """Values of `pattern`, the names in `data.patterns` in their order, and of `batch` where there is a series.

    UserError for a name that is given twice, and for a lead that is not there.
    """
    names = [str(one["name"]) for one in definitions["data"]["patterns"]] if "data" in definitions else []
    series = definitions.get("series")
    every = names + ([] if series is None else [str(one["name"]) for one in series["patterns"]])
    twice = next((name for name, times in Counter(every).items() if times > 1), None)
    if twice is not None:
        raise UserError(f'stages.*.definition.patterns: two are called "{twice}"; give each its own name')
    if series is None:
        return {"pattern": names}
    if series["lead"] not in names:
        raise UserError(f'stages.series.definition.lead: "{series["lead"]}" is none of data.patterns; name one of them')
    return {"pattern": names, "batch": list(batches.of(series))}


_EDGES, _ANGLES = ("a", "b", "c"), ("alpha", "beta", "gamma")
_REFINED = {
    **{f"cell/{edge}": (f"cell parameter {edge}", "angstrom") for edge in _EDGES},
    **{f"cell/{angle}": (f"cell parameter {angle}", "degree") for angle in _ANGLES},
    **{axis: (f"coordinate {axis}", "none") for axis in ("x", "y", "z")},
    "u_iso": ("isotropic displacement parameter", "angstrom^2"),
    "occupancy": ("occupancy", "none"),
    "zero": ("zero shift", "degree"),
    "displacement": ("specimen displacement", "mm"),
}
"""First part of a parameter's name (of a cell, first and last) -> the quantity, and the unit that engines use."""


def question(definitions: Mapping[str, Definition]) -> Question:
    """The parameter that compare reads; UserError if its unit there is not the one that engines give it in."""
    parameter, stated = definitions["compare"]["parameter"], definitions["compare"]["units"]
    first, *others = parameter.split("/")
    name, unit = _REFINED.get(f"cell/{others[-1]}" if first == "cell" and others else first, (parameter, stated))
    if stated != unit:
        raise UserError(f"stages.compare.definition.units: {parameter} is refined in {unit}; write {unit}")
    words = dict.fromkeys(("radiation", "geometry", "sample"))
    return Question({name: unit}, {**words, "wavelength": "angstrom", "temperature_k": "K"})


KIND = Kind(
    name="rietveld",
    about="Rietveld refinement of X-ray or neutron powder patterns (GSAS-II): one parameter such as a "
    "cell edge, in one pattern or a series",
    rules="rietveld.smk",
    stages=(
        _stage("data", wildcards=_PATTERN, outputs={"sample": "sample.json"}, engine=_ENGINE),
        _stage(
            "refine",
            "data",
            wildcards=_PATTERN,
            outputs={
                "model": "model.json",
                "structure": "structure.cif",
                "curves": "curves.npz",
                "pattern_plot": "pattern.png",
                "window_plot": "window.png",
                "report": "report.json",
                "trajectory": "trajectory.json",
            },
            agents=(AgentRule("refinement", _PATTERN),),
            builds_on=("refinement",),
            engine=_ENGINE,
        ),
        _stage(
            "series",
            "data",
            "refine",
            wildcards=("batch",),
            outputs={"patterns": "patterns.zip", "worst_plot": "worst.png"},
            optional=True,
            engine=_ENGINE,
        ),
        _stage("compare", "refine", "series", outputs={"series_plot": "series.svg"}, partial=True, rederivable=True),
    ),
    ranges=ranges,
    question=question,
    planted_faults="rietveld/planted_faults.yaml",
)
