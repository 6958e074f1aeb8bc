"""The workflow kind: its stages are what campaign.yaml says, each of them some rules of a host workflow.

A stage has one step of ours, which reads the declared results out of what those rules made. Read by every verb at
start-up, so it imports nothing heavy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sophron.interfaces import JsonObject
from sophron.interfaces.kind import Definition, Kind, StageKind

WILDCARD = re.compile(r"\{(\w+)(?:,([^{}]+))?\}")
TABLES = "tables"
"""The output of a stage that holds the columns of its tables."""


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
    results: Mapping[str, JsonObject] = definition.get("results", {})
    tables = {TABLES: "tables.json"} if any("rows" in one for one in results.values()) else {}
    return StageKind(
        name=name,
        depends_on=depends_on,
        run="sophron.kinds.workflow.read_results:run",
        schema="workflow/stage",
        outputs=tables,
        rederivable=True,
        declared=result_schema(results),
        host_rules=tuple(definition.get("rules", ())),
        tables=TABLES if tables else "",
        host_files=tuple(path_regex(one["file"]) for one in results.values()),
    )


def path_regex(file: str) -> str:
    """Return a path with wildcards as a regular expression: `{sample}` is one or more characters, each time the same.

    A wildcard may bring an expression of its own: `{sample,[a-z]+}`.
    """
    parts, place, seen = [], 0, set()
    for match in WILDCARD.finditer(file):
        parts.append(re.escape(file[place : match.start()]))
        parts.append(f"(?P={match[1]})" if match[1] in seen else f"(?P<{match[1]}>{match[2] or '.+'})")
        seen.add(match[1])
        place = match.end()
    return "".join([*parts, re.escape(file[place:])])


def wildcards(file: str) -> list[str]:
    """Return the names of the wildcards in a path."""
    return list(dict.fromkeys(match[1] for match in WILDCARD.finditer(file)))


def result_schema(results: Mapping[str, JsonObject]) -> dict[str, Any]:
    """Return the JSON Schema of a result, from what a definition declares of its numbers and columns."""
    properties: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    for name, one in results.items():
        about = one.get("description", name)
        if "rows" in one:
            properties[name] = {"type": "integer", "minimum": 0, "description": f"Rows of {about} (1)."}
            declared = {**{key: {"type": "text"} for key in wildcards(one["file"])}, **one["rows"]}
            columns |= {f"{name}.{column}": {"type": "column", "items": _schema(it)} for column, it in declared.items()}
        else:
            properties[name] = _schema(one) | {"description": f"{about} ({one.get('unit', '1')})."}
        if "missing" in one:
            properties[f"{name}_missing"] = {"type": "integer", "minimum": 0, "description": "Left out as missing (1)."}
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
        "x-columns": columns,
    }


def _schema(one: JsonObject) -> dict[str, Any]:
    """The schema of a number or of the items of a column."""
    kind = {"text": "string"}.get(one.get("type", ""), one.get("type", "number"))
    if one.get("over") == "count" or one.get("size"):
        kind = "integer" if kind == "number" else kind
    found = {"type": "boolean" if "sha256" in one or one.get("exists") else kind}
    bounds = {key: one[key] for key in ("minimum", "maximum") if key in one and one.get("over") not in ("count", "sum")}
    return found | ({"minimum": 0} if one.get("over") == "count" or one.get("size") else {}) | bounds


def ranges(definitions: Mapping[str, Definition]) -> dict[str, Sequence[str]]:
    """Return no wildcard: a stage is one step, whatever its rules range over."""
    del definitions
    return {}


KIND = Kind(
    name="workflow",
    rules="workflow.smk",
    stages=(),
    ranges=ranges,
    stages_of=stages,
    about="A Snakemake workflow of your own, gated and judged as it stands; sophron adopt makes the campaign.",
)
