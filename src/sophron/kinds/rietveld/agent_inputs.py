"""What the refinement agent is told of a pattern: its sample, the recipe, and where a sequential series goes on."""

from pathlib import Path

from sophron.campaign.execution import outcome_store
from sophron.campaign.spec.spec import Spec
from sophron.interfaces import JsonObject
from sophron.interfaces.kind import Wildcards
from sophron.records import documents
from sophron.records.files import write_json

CARRIED = ("scale", "background", "cell", "zero", "displacement", "profile_", "size", "strain")
"""Groups whose values a neighbouring pattern lends; coordinates begin at their CIF."""


def refinement(root: Path, spec: Spec, wildcards: Wildcards) -> JsonObject:
    """The inputs of one step of the rule refinement. UserError where its data, or its predecessor, are not there."""
    data = outcome_store.finished(root, spec, "data", wildcards)
    definition, refine = spec.definition("data"), spec.definition("refine")
    sample = data.files["sample"]
    before = _before(spec, wildcards["pattern"]) if refine["sequential"] else None
    if before is not None:
        sample = _seeded(root, sample, outcome_store.finished(root, spec, "refine", {"pattern": before}), wildcards)
    task = {
        "pattern": wildcards["pattern"],
        "engine": definition["engine"],
        "question": spec.data["question"],
        "data": data.outcome.result,
        "phases": [{key: one[key] for key in ("name", "role")} for one in definition["phases"]],
        "begins_from": before,
    }
    return {"task": task, "recipe": refine["recipe"], "sample": sample}


def _before(spec: Spec, pattern: str) -> str | None:
    names = list(spec.ranges["pattern"])
    place = names.index(pattern)
    return names[place - 1] if place else None


def _seeded(root: Path, sample: Path, before: outcome_store.Finished, wildcards: Wildcards) -> Path:
    """The sample with the values of the pattern before it, in a file of its own."""
    parameters: JsonObject = before.outcome.result["parameters"]
    start: dict[str, float] = {}
    edges: set[tuple[str, float, float]] = set()
    for name, one in parameters.items():
        # Edges that symmetry keeps equal have equal values and esds; only the first of them can be set.
        edge = (name.rpartition("/")[0], one["value"], one["esd"] or 0.0)
        if name.startswith(CARRIED) and not (name.startswith("cell/") and edge in edges):
            start[name] = one["value"]
            edges.add(edge)
    path = root / "scratch" / "agents" / f"sample-{wildcards['pattern']}.json"
    write_json(path, {**documents.load_json(sample), "start": start})
    return path
