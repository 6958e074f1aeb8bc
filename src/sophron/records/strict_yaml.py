"""Strict YAML: plain JSON data only, no surprises, and the line of every key.

YAML 1.1, as PyYAML reads it, takes `1e6` for text, `no` for false and a date for an object, keeps the last of
two equal keys, and lets a short text with aliases grow without bound. A spec is signed: it gets none of these.
"""

import math
import re
from typing import Any

import yaml

from sophron.records.errors import UserError, shown

Key = str | int
Lines = dict[tuple[Key, ...], int]

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster if libyaml is there
MAX_DEPTH = 60
LARGEST_INTEGER = 2**53 - 1
FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?")
INTEGER = re.compile(r"[-+]?[0-9]+")


def parse(raw: bytes, name: str) -> tuple[Any, Lines]:
    """Return the data and line numbers (from 1) of a YAML text; UserError with file and line where it is not strict."""
    text = _text(raw, name)
    try:
        _check_events(text, name)
        node = yaml.compose(text, Loader=LOADER)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = " ".join(str(error.problem or error.context or "malformed").split())
        raise UserError(f"{name}:{line}: is not valid YAML ({problem}); correct this line") from None
    except (yaml.YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())[:160]
        raise UserError(f"{name}:1: is not readable YAML ({reason}); save it as plain UTF-8 text") from None
    if node is None:
        raise UserError(f"{name}:1: the file is empty; `sophron new` makes one to start from")
    reader = _Reader(name)
    return reader.value(node, ()), reader.lines


def _text(raw: bytes, name: str) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(f"{name}:{line}: is not UTF-8 text; save it as plain UTF-8") from None
    strange = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if strange:
        line = text.count("\n", 0, strange.start()) + 1
        raise UserError(f"{name}:{line}: holds the character {strange.group()!a}, which is no text; remove it")
    return text


def _check_events(text: str, name: str) -> None:
    """Refuse anchors, aliases, tags and deep nesting before anything is built from them."""
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        fault = None
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            fault = "is nested too deeply; write it flat"
        elif getattr(event, "anchor", None):
            fault = "YAML anchors and aliases are not allowed here; write the value out"
        elif tag := getattr(event, "tag", None):
            fault = f"the tag {tag[:40]!a} is not allowed; write a plain value"
        if fault:
            raise UserError(f"{name}:{_line(event)}: {fault}")


def _line(part: yaml.Event | yaml.Node) -> int:
    return part.start_mark.line + 1 if part.start_mark else 1


class _Reader:
    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: Lines = {}

    def fault(self, node: yaml.Node, problem: str) -> UserError:
        return UserError(f"{self.name}:{_line(node)}: {problem}")

    def value(self, node: yaml.Node, keys: tuple[Key, ...]) -> Any:
        self.lines.setdefault(keys, _line(node))
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, keys)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*keys, index)) for index, item in enumerate(node.value)]
        return self.scalar(node)

    def mapping(self, node: yaml.MappingNode, keys: tuple[Key, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == "tag:yaml.org,2002:merge":
                raise self.fault(key_node, "a key must be plain text; write it as `name: value`")
            if key in result:
                raise self.fault(key_node, f'the key "{shown(key)}" stands here twice; keep one')
            self.lines[(*keys, key)] = _line(key_node)
            result[key] = self.value(value_node, (*keys, key))
        return result

    def scalar(self, node: yaml.Node) -> Any:
        text: str = node.value
        if getattr(node, "style", None):  # quoted or block text; plain is None here and "" in libyaml
            return text
        if text in ("", "~", "null"):
            return None
        if text in ("true", "false"):
            return text == "true"
        if FLOAT.fullmatch(text):
            return self.number(node)
        if text.lower().lstrip("+-") in (".nan", ".inf"):
            raise self.fault(node, f"{text} is not a number that can be compared; write a finite one")
        return text

    def number(self, node: yaml.Node) -> int | float:
        """Return one kind of number, as in JSON: a whole one is an int however it is written (2.0, 1e6)."""
        text = node.value
        number = float(text)
        if math.isinf(number):
            raise self.fault(node, f"{text[:40]} is too large for a number; write a smaller one")
        if INTEGER.fullmatch(text) and abs(number) > LARGEST_INTEGER:
            raise self.fault(node, f"{text[:40]} is beyond 2**53, where JSON stops being exact; write a smaller one")
        return int(number) if number.is_integer() and abs(number) <= LARGEST_INTEGER else number
