"""A JSON schema as an outline that a person or a model reads: a line a key, with type, bounds and description."""

import json
from collections.abc import Iterator
from typing import Any

from sophron.interfaces import JsonObject

_BOUNDS = (
    *(("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<")),
    *(("minItems", "at least"), ("maxItems", "at most")),
)
_LARGEST = 10**5
"""A greater maximum bounds the machine and not the science: it is left out."""
_SELF_EVIDENT = {"minimum": 0, "minItems": 1}


class SchemaOutline:
    """Writes schemas that share `$defs` as lines; each definition is written out once and named after that.

    brief: without bounds, what is inside a property, and when it is null; enough for a result, whose numbers criteria
        compare.
    """

    def __init__(self, defs: JsonObject) -> None:
        self._defs = defs
        self._written: set[str] = set()
        self.brief = False

    def lines(self, schema: JsonObject, depth: int = 0) -> Iterator[str]:
        """Yield a line for each property, those inside it indented below. A `?` marks a key that may be left out."""
        required, indent = schema.get("required", []), "  " * depth
        for key, part in schema.get("properties", {}).items():
            resolved = self._resolved(part)
            said = str(resolved.get("description", "")).strip()
            said = said.partition("; null")[0] if self.brief else said
            about = "; ".join(filter(None, (self._type(resolved), said)))
            yield f"{indent}{key}{'' if key in required else '?'}: {about}".rstrip()
            if not self.brief:
                yield from self._inner(part, depth + 1)

    def _inner(self, part: JsonObject, depth: int) -> Iterator[str]:
        """Yield the lines below a key: of an object, of the items of a list, of each alternative."""
        name = _name(part)
        if name and name in self._written:
            yield f"{'  ' * depth}(as {name} above)"
            return
        self._written |= {name} if name else set()
        resolved = self._resolved(part)
        yield from self.lines(resolved, depth)
        each = [resolved[key] for key in ("items", "additionalProperties") if isinstance(resolved.get(key), dict)]
        inner = [("each:", one) for one in each] + [("either:", one) for one in resolved.get("oneOf", ())]
        for word, one in inner:
            if "properties" in self._resolved(one):
                yield f"{'  ' * depth}{word}"
                yield from self._inner(one, depth + 1)

    def _resolved(self, part: JsonObject) -> JsonObject:
        name = _name(part)
        return {**self._defs[name], **part} if name else part

    def _type(self, part: JsonObject) -> str:
        if "const" in part:
            return json.dumps(part["const"])
        if "enum" in part:
            return "|".join(map(str, part["enum"]))
        types = part.get("type", "")
        word = " or ".join(types) if isinstance(types, list) else str(types)
        if word == "array":
            word = f"list of {self._type(self._resolved(part.get('items', {})))}".removesuffix(" of ")
        named = [(name, sign) for name, sign in _BOUNDS if not self.brief and name in part and _tells(name, part[name])]
        bounds = [f"{sign} {part[name]:g}" for name, sign in named]
        return " ".join(["" if word == "object" else word, *bounds]).strip()


def _name(part: JsonObject) -> str:
    return str(part.get("$ref", "")).removeprefix("#/$defs/")


def _tells(bound: str, value: Any) -> bool:
    return value != _SELF_EVIDENT.get(bound) and not ("max" in bound and abs(value) > _LARGEST)
