"""The schema of an answer in the forms that services take, and as words where they take none."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sophron.interfaces import JsonObject

_INNER = ("items",)
_LISTS = ("anyOf", "oneOf", "allOf")
_NAMED = ("properties", "$defs")
_NAMES = {"$schema", "$id"}
_CONDITIONS = {"if", "then", "else", "not", "dependentRequired", "dependentSchemas"}


def plain(schema: JsonObject) -> JsonObject:
    """Return `schema` in the words that services know; it accepts the same answers, and more where it had conditions.

    `$schema`, `$id` and conditions go; lists of types become `anyOf`. What was lost is checked where answers arrive.
    """
    converted = {name: _plain_member(name, value) for name, value in schema.items() if name not in _CONDITIONS | _NAMES}
    if "allOf" in converted:
        converted["allOf"] = [each for each in converted["allOf"] if each]
    converted = {name: value for name, value in converted.items() if name != "allOf" or value}
    types = converted.get("type")
    if not isinstance(types, list):
        return converted
    del converted["type"]
    about = {name: converted.pop(name) for name in ("title", "description") if name in converted}
    return about | {"anyOf": [{"type": each} if each == "null" else converted | {"type": each} for each in types]}


def conditional(schema: JsonObject) -> bool:
    """Return whether `plain` loses a condition, which the model should then read in words."""
    return any(_CONDITIONS & each.keys() for each in _walk(schema))


def closed(schema: JsonObject) -> bool:
    """Return whether a service that closes every object and wants every type can still express `schema`.

    Not where an object has free names, a value has no type, or a reference leads elsewhere.
    """
    return all(_closed_here(each) for each in _walk(schema))


def in_words(schema: JsonObject) -> str:
    """Return what is added to the system prompt where the service does not hold the answer to the schema by itself."""
    return (
        "Your final answer is one JSON value and nothing else: no text before or after it, no code fence. "
        f"It must be valid under this JSON Schema:\n{json.dumps(schema, ensure_ascii=False)}"
    )


def _plain_member(name: str, value: Any) -> Any:
    if name in _INNER and isinstance(value, Mapping):
        return plain(value)
    if name in _LISTS:
        return [plain(each) for each in value]
    if name in _NAMED:
        return {key: plain(each) for key, each in value.items()}
    return value


def _walk(schema: JsonObject) -> Iterator[JsonObject]:
    yield schema
    inner = [schema[name] for name in _INNER if name in schema]
    inner += [each for name in _LISTS for each in schema.get(name, ())]
    inner += [each for name in _NAMED for each in schema.get(name, {}).values()]
    for each in inner:
        if isinstance(each, Mapping):
            yield from _walk(each)


def _closed_here(schema: JsonObject) -> bool:
    if "$ref" in schema:
        return str(schema["$ref"]).startswith("#/$defs/")
    if not any(name in schema for name in ("type", "enum", "const", *_LISTS)):
        return False
    if "type" not in schema:
        return "properties" not in schema
    free = bool(schema.get("additionalProperties", not schema.get("properties"))) or "patternProperties" in schema
    return schema["type"] != "object" or not free
