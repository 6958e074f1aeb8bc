"""A draft written as an example campaign is: its comments at the same keys, and short parts in one line."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sophron.records.errors import UserError
from sophron.records.strict_yaml import Key, Lines, parse

_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
Path = tuple[Key, ...]


def inline(data: Any, example: str) -> Any:
    """Return `data` for ruamel.yaml, which writes in one line what `example` has in one line."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    lines = parse(example.encode(), "example")[1]

    def styled(value: Any, path: Path) -> Any:
        if not isinstance(value, Mapping | list):
            return value
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        inner = {key: styled(one, (*path, key)) for key, one in pairs}
        written = CommentedMap(inner) if isinstance(value, Mapping) else CommentedSeq(inner.values())
        if path and path in lines and set(_inner_lines(lines, path)) <= {lines[path]}:
            written.fa.set_flow_style()
        return written

    return styled(data, ())


def carried_over(text: str, example: str) -> str:
    """Return the YAML `text` with what `example` says and leaves blank above a key, and behind it.

    What stands behind a value is said of that value: it is carried over only if the draft has the same one. A text that
    is not strict YAML is returned as it is.
    """
    try:
        return _carried_over(text, example)
    except UserError:
        return text


def _carried_over(text: str, example: str) -> str:
    (draft, lines), (model, there) = parse(text.encode(), "draft"), parse(example.encode(), "example")
    made, source = text.splitlines(), example.splitlines()
    first_key = next(iter(there.values()))
    keys = [
        path for path in _first_on_their_lines(there) if path in lines and all(isinstance(key, str) for key in path)
    ]
    added = [path for path in lines if len(path) == 1 and path not in there]
    for path in sorted([*keys, *added], key=lines.__getitem__, reverse=True):
        at = lines[path] - 1
        if path in added:
            made[at:at] = [""]
            continue
        same = _at(draft, path) == _at(model, path) and _is_one_line(lines, path)
        if same or (_is_block(there, path) and _is_block(lines, path)):
            made[at] += _behind(source[there[path] - 1])
        if there[path] != first_key:  # above it stands what the example is
            made[at:at] = reversed(list(_above(source, there[path] - 1)))
    commented = "\n".join([*made, ""])
    return commented if parse(commented.encode(), "draft")[0] == draft else text


def _first_on_their_lines(lines: Lines) -> list[Path]:
    """Return the paths of keys that begin a line."""
    first: dict[int, Path] = {}
    for path, line in lines.items():
        if path and (line not in first or len(path) < len(first[line])):
            first[line] = path
    return list(first.values())


def _is_block(lines: Lines, path: Path) -> bool:
    """Return whether what a key holds begins on a later line."""
    inner = _inner_lines(lines, path)
    return bool(inner) and min(inner) > lines[path]


def _is_one_line(lines: Lines, path: Path) -> bool:
    """Return whether key and value are surely in one line: no part of it is on another, and the next has a key."""
    return {*_inner_lines(lines, path)} <= {lines[path]} and lines[path] + 1 in lines.values()


def _inner_lines(lines: Lines, path: Path) -> list[int]:
    return [line for other, line in lines.items() if len(other) > len(path) and other[: len(path)] == path]


def _above(source: list[str], index: int) -> Iterator[str]:
    """Yield the blank lines and comments above a key, as deeply indented as it, from the nearest up."""
    indent = re.match(" *", source[index])
    depth = len(indent[0]) if indent else 0
    for line in reversed(source[:index]):
        if line.strip() and not line.startswith(" " * depth + "#"):
            return
        yield line


def _behind(line: str) -> str:
    comment = re.search(r"\s+#.*$", _QUOTED.sub(lambda quoted: "x" * len(quoted[0]), line))
    return line[comment.start() :] if comment else ""


def _at(data: Any, path: Path) -> Any:
    for key in path:
        data = data[key]
    return data
