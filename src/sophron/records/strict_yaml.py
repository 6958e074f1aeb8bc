"""Strict YAML: plain JSON data only, no surprises, and the line of every key.

YAML 1.1, as PyYAML reads it, takes `1e6` for text, `no` for false and a date for an object, keeps the last of
two equal keys, and lets a short text with aliases grow without bound. A spec is signed: it gets none of these.
"""

import math
import re
from typing import Any

import yaml

from sophron.records.errors import UserError

Key = str | int
Lines = dict[tuple[Key, ...], int]

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster where libyaml is
MAX_DEPTH = 60
LARGEST_INTEGER = 2**53 - 1
FLOAT = re.compile(r"^[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?$")
INTEGER = re.compile(r"^[-+]?\d+$")


def parse(raw: bytes, name: str) -> tuple[Any, Lines]:
    """Data and line numbers (from 1) of a YAML text; UserError with file and line where it is not strict."""
    try:
        node = yaml.compose(raw, Loader=LOADER)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = " ".join(str(error.problem or error.context or "malformed").split())
        raise UserError(f"{name}:{line}: is not valid YAML ({problem}); correct this line") from None
    except (yaml.YAMLError, UnicodeError, ValueError) as error:
        reason = " ".join(str(error).split())[:160]
        raise UserError(f"{name}:1: is not readable YAML ({reason}); save it as plain UTF-8 text") from None
    except RecursionError:
        raise UserError(f"{name}:1: is nested too deeply; write it flat") from None
    if node is None:
        raise UserError(f"{name}:1: the file is empty; `sophron new` makes one to start from")
    reader = _Reader(name)
    return reader.value(node, ()), reader.lines


class _Reader:
    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: Lines = {}
        self.seen: set[int] = set()

    def fault(self, node: yaml.Node, problem: str) -> UserError:
        return UserError(f"{self.name}:{node.start_mark.line + 1}: {problem}")

    def value(self, node: yaml.Node, keys: tuple[Key, ...]) -> Any:
        if id(node) in self.seen:
            raise self.fault(node, "YAML anchors and aliases are not allowed here; write the value out")
        if len(keys) > MAX_DEPTH:
            raise self.fault(node, "is nested too deeply; write it flat")
        self.lines.setdefault(keys, node.start_mark.line + 1)
        self.seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, keys)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*keys, index)) for index, item in enumerate(node.value)]
        if not isinstance(node, yaml.ScalarNode):
            raise self.fault(node, "is no value that a document can hold; write plain text")
        return self.scalar(node)

    def mapping(self, node: yaml.MappingNode, keys: tuple[Key, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == "tag:yaml.org,2002:merge":
                raise self.fault(key_node, "a key must be plain text; write it as `name: value`")
            if key in result:
                raise self.fault(key_node, f'the key "{key}" stands here twice; keep one')
            self.lines[(*keys, key)] = key_node.start_mark.line + 1
            result[key] = self.value(value_node, (*keys, key))
        return result

    def scalar(self, node: yaml.ScalarNode) -> Any:
        text: str = node.value
        if not node.tag.startswith("tag:yaml.org,2002:"):
            raise self.fault(node, f"the tag {node.tag} is not allowed; write a plain value")
        if node.style:  # quoted or block text; plain is None here and "" in libyaml
            return text
        if text in ("", "~", "null"):
            return None
        if text in ("true", "false"):
            return text == "true"
        if INTEGER.match(text):
            return self.integer(node)
        if FLOAT.match(text):
            number = float(text)
            if math.isinf(number):
                raise self.fault(node, f"{text[:40]} is too large for a number; write a smaller one")
            return number
        if text.lower().lstrip("+-") in (".nan", ".inf"):
            raise self.fault(node, f"{text} is not a number that can be compared; write a finite one")
        return text

    def integer(self, node: yaml.Node) -> int:
        text = node.value
        if len(text) > 17 or abs(int(text)) > LARGEST_INTEGER:
            raise self.fault(node, f"{text[:40]} is beyond 2**53, where JSON stops being exact; write a smaller one")
        return int(text)
