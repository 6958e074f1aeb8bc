"""The workflow kind: its stages are what campaign.yaml says, each of them some rules of a host workflow.

A stage has one step of ours, which reads the declared results out of what those rules made. Read by every verb at
start-up, so it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sophron.interfaces import JsonObject
from sophron.interfaces.kind import Definition, Kind, StageKind

PLACE = {"number": "number", "integer": "integer", "boolean": "boolean"}


def stages(blocks: Mapping[str, JsonObject]) -> tuple[StageKind, ...]:
    """Return the stages that campaign.yaml names, each after those that it depends on as far as they are there."""
    ordered: dict[str, StageKind] = {}
    waiting = {name: list(block.get("depends_on", [])) for name, block in blocks.items()}
    while waiting:
        ready = [name for name, needs in waiting.items() if not any(need in waiting for need in needs)] or [*waiting]
        for name in ready:
            ordered[name] = _stage(name, tuple(waiting.pop(name)), blocks[name].get("definition", {}))
    return tuple(ordered.values())


def _stage(name: str, depends_on: tuple[str, ...], definition: JsonObject) -> StageKind:
    return StageKind(
        name=name,
        depends_on=depends_on,
        run="sophron.kinds.workflow.read_results:run",
        schema="workflow/stage",
        rederivable=True,
        declared=result_schema(definition.get("results", {})),
        host_rules=tuple(definition.get("rules", ())),
    )


def result_schema(results: Mapping[str, JsonObject]) -> dict[str, Any]:
    """Return the JSON Schema of a result, from what a definition declares of its numbers."""
    properties = {
        name: {
            "type": one.get("type", "number"),
            "description": f"{one.get('description', name)} ({one.get('unit', '1')}).",
        }
        for name, one in results.items()
    }
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def ranges(definitions: Mapping[str, Definition]) -> dict[str, Sequence[str]]:
    """Return no wildcard: a stage is one step, whatever its rules range over."""
    del definitions
    return {}


KIND = Kind(name="workflow", rules="workflow.smk", stages=(), ranges=ranges, stages_of=stages)
