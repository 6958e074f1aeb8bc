"""Documents that cross a rule boundary: read strictly, validated against `schemas/`, errors with file, line and key."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.records import files
from sophron.records.errors import UserError, did_you_mean, shown
from sophron.records.files import MAX_BYTES, read_bytes, resource

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

load_json = files.load_json
LARGEST_INTEGER = 2**53 - 1
Key = str | int


@dataclass(frozen=True)
class Document:
    """Plain data with the file it came from and the line of each key (path of keys -> line, from 1)."""

    data: Any
    path: Path
    lines: Mapping[tuple[Key, ...], int] = field(default_factory=dict)

    def where(self, keys: Sequence[Key]) -> str:
        """Return `file:line: key.path` of the deepest known part of `keys`."""
        known = tuple(keys)
        while known and known not in self.lines:
            known = known[:-1]
        line = self.lines.get(known)
        place = f"{self.path}:{line}" if line else str(self.path)
        return f"{place}: {dotted(keys)}" if keys else place


def dotted(keys: Sequence[Key]) -> str:
    """Return `("stages", "build", 0)` as `stages.build[0]`."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{shown(key)}" if text else shown(key)
    return text


def load_yaml(path: Path) -> Document:
    """Return a YAML file as plain JSON data with line numbers; UserError if it is not plain, strict YAML."""
    from sophron.records.strict_yaml import parse

    data, lines = parse(read_bytes(path, MAX_BYTES), str(path))
    return Document(data, path, lines)


def load_record(path: Path, *keys: str) -> dict[str, Any]:
    """Return a JSON file that holds an object with these keys; UserError if it is anything else."""
    content = load_json(path)
    if not isinstance(content, dict) or any(key not in content for key in keys):
        wanted = f" with {', '.join(keys)}" if keys else ""
        raise UserError(f"{path}: is damaged, not a record{wanted}; restore it, or remove it to have it made again")
    return content


@cache
def _validator(schema_name: str, pointer: str) -> "Validator":
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    # An integer beyond what JSON holds exactly is none, and `$` is the end, not a place before a last line end.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: _is_integer(value))
    strict: Any = extend(Draft202012Validator, {"pattern": _pattern}, type_checker=types)  # type: ignore[no-untyped-call]
    content = schema(schema_name)
    if pointer:
        content = {"$schema": content.get("$schema"), "$defs": content["$defs"], "$ref": f"#/$defs/{pointer}"}
    validator: Validator = strict(content)
    return validator


def _is_integer(value: Any) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and not isinstance(value, bool) and abs(value) <= LARGEST_INTEGER


def _pattern(_: "Validator", pattern: str, instance: Any, __: Any) -> Iterator["ValidationError"]:
    from jsonschema import ValidationError

    end = pattern.removesuffix("$") + r"\Z" if pattern.endswith("$") else pattern
    if isinstance(instance, str) and not re.search(end, instance):
        yield ValidationError(f"{_short(instance)} does not match {pattern}")


@cache
def schema(schema_name: str) -> Any:
    """Return the schema `schemas/<schema_name>.schema.yaml` as plain data.

    A kind of another distribution gives the whole path of its own file, without the ending.
    """
    return load_yaml(resource("schemas", f"{schema_name}.schema.yaml")).data


def validate(document: Document, schema_name: str, pointer: str = "", at: Sequence[Key] = ()) -> None:
    """Check `document` (or its part at `at`) against a schema, or against `$defs/<pointer>` of it.

    Raises UserError for the first fault in document order, naming file, line, key and remedy.
    """
    found = faults(document, schema_name, pointer, at)
    if found:
        raise UserError(found[0])


def faults(document: Document, schema_name: str, pointer: str = "", at: Sequence[Key] = ()) -> list[str]:
    """Return all faults that `validate` would speak of, one sentence each, in document order."""
    part = document.data
    for key in at:
        part = part[key]
    errors = _validator(schema_name, pointer).iter_errors(part)
    ordered = sorted(errors, key=lambda error: _order(document, (*at, *error.absolute_path)))
    return list(dict.fromkeys(said for error in ordered for said in _sentences(document, error, tuple(at))))


def _order(document: Document, keys: tuple[Key, ...]) -> tuple[int, int]:
    known = keys
    while known and known not in document.lines:
        known = known[:-1]
    return document.lines.get(known, 0), -len(keys)


def _sentences(document: Document, error: "ValidationError", at: tuple[Key, ...]) -> list[str]:
    from jsonschema.exceptions import best_match

    while error.context:
        error = best_match([error]) or error
        if not error.context:
            break
        error = min(error.context, key=lambda inner: -len(inner.absolute_path))
    keys: tuple[Key, ...] = (*at, *error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        return _unknown_keys(document, keys, error)
    if error.validator == "required" and isinstance(error.instance, Mapping):
        required: Any = error.validator_value
        missing = [name for name in required if name not in error.instance]
        return [f'{document.where(keys)}: the key "{name}" is missing; add it' for name in missing]
    return [f"{document.where(keys)}: {_fault(error)}"]


def _unknown_keys(document: Document, keys: tuple[Key, ...], error: "ValidationError") -> list[str]:
    schema_part: Any = error.schema
    instance: Any = error.instance
    known, patterns = list(schema_part.get("properties", {})), schema_part.get("patternProperties", {})
    return [
        f"{document.where((*keys, unknown))}: unknown key; {did_you_mean(str(unknown), known, cutoff=0.5)}"
        for unknown in instance
        if unknown not in known and not any(re.search(each, str(unknown)) for each in patterns)
    ]


def _fault(error: "ValidationError") -> str:
    value = _short(error.instance)
    wanted: Any = error.validator_value
    sentences = {
        "type": f"{value} is not of type {_listed(wanted)}",
        "enum": f"{value} is not one of {_listed(wanted)}",
        "const": f"{value} must be {_short(wanted)}",
        "minimum": f"{value} is below the least allowed value {wanted}",
        "maximum": f"{value} is above the largest allowed value {wanted}",
        "exclusiveMinimum": f"{value} must be above {wanted}",
        "exclusiveMaximum": f"{value} must be below {wanted}",
        "pattern": f"{value} does not have the form {wanted}",
        "minItems": f"has fewer than {wanted} entries",
        "maxItems": f"has more than {wanted} entries",
        "minLength": "must not be empty",
        "minProperties": "must not be empty",
        "propertyNames": f"has a key that is not a plain name ({value})",
    }
    reason = sentences.get(str(error.validator), " ".join(error.message.split())[:200])
    return f"{reason}; correct the value"


def _listed(wanted: Any) -> str:
    return ", ".join(str(item) for item in wanted) if isinstance(wanted, list) else str(wanted)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
