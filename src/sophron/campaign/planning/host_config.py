"""Config files of a host workflow: their values, and edits of these that a person is asked to sign.

An edit is a dotted key and its new value. The file is not touched before a signature; until then a plan takes the
values from a config file of its own, which Snakemake merges into those of the workflow.
"""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import yaml

from sophron.campaign.planning.host_plan import HostPlan
from sophron.interfaces import JsonObject
from sophron.records.errors import UserError
from sophron.records.files import read_text

SUFFIXES = (".yaml", ".yml", ".json")
PREFIX = "config."
"""Begins a path that is a key of a config file, and not of campaign.yaml."""
Edits = Mapping[str, Any]
"""Dotted key -> new value."""


def values(workdir: Path, names: Sequence[str]) -> dict[str, JsonObject]:
    """Return file -> its content, of the config files that are there and are YAML or JSON; the last one counts most."""
    found: dict[str, JsonObject] = {}
    for name in names:
        path = workdir / name
        if path.is_file() and path.suffix in SUFFIXES:
            content = yaml.safe_load(read_text(path))  # as Snakemake reads it: it may be no strict YAML
            found[name] = json.loads(json.dumps(content, default=str)) if isinstance(content, dict) else {}
    return found


def by_file(known: Mapping[str, JsonObject], edits: Edits) -> dict[str, dict[str, Any]]:
    """Return file -> its edits: of the last file that has the key. UserError for one that no file has so.

    known: what `values` returned.
    """
    found: dict[str, dict[str, Any]] = {}
    for key, value in edits.items():
        name = next((name for name in reversed([*known]) if _has(known[name], key)), None)
        if name is None:
            files = ", ".join(known) or "none is read"
            raise UserError(
                f"config.{key}: stands in no config file of the workflow ({files}); name a key that is there"
            )
        before = _get(known[name], key)
        if _sort(before) != _sort(value):
            raise UserError(f"config.{key}: is {before!r} in {name}; give a value of the same type, not {value!r}")
        found.setdefault(name, {})[key] = value
    return found


def check_apart(plan: HostPlan, names: Sequence[str]) -> None:
    """Refuse to edit a config file that counts by its content too: a plan with other values would not fit the file."""
    parts = {part for rule in plan.rules.values() for part in rule}
    for name in names:
        if name in plan.sources or f"also {name}" in parts:
            raise UserError(f"{name}: is an input itself, or named under workflow.also; edit it, then: sophron amend")


def differences(known: Mapping[str, JsonObject], edits: Mapping[str, Edits]) -> Iterator[str]:
    """Yield one line for each edit. edits: by file."""
    for name, inner in sorted(edits.items()):
        for key, value in sorted(inner.items()):
            before = _get(known[name], key) if _has(known.get(name, {}), key) else "nothing"
            yield f"{name}: {key}: {before} -> {value}"


def merged(known: Mapping[str, JsonObject], edits: Mapping[str, Edits]) -> JsonObject:
    """Return a config that changes the values alone, as Snakemake merges it: lists, which it replaces, are whole."""
    found: dict[str, Any] = {}
    for name, inner in edits.items():
        content = json.loads(json.dumps(known[name]))
        for key, value in inner.items():
            _set(content, key, value)
        for key in inner:
            *above, last = _until_list(content, key.split("."))
            place = reduce(lambda place, one: place.setdefault(one, {}), above, found)
            place[last] = _get(content, ".".join([*above, last]))
    return found


def _until_list(content: Any, keys: Sequence[str]) -> list[str]:
    """Return the keys up to the first list: of what is in one all is given."""
    for place in range(1, len(keys)):
        if isinstance(_get(content, ".".join(keys[:place])), list):
            return [*keys[:place]]
    return [*keys]


def with_config(arguments: Sequence[str], path: Path) -> list[str]:
    """Return a command line of Snakemake that reads one more config file, after those that it names."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    given = [place for place in range(end) if arguments[place].partition("=")[0] in ("--configfile", "--configfiles")]
    if not given:
        return [*arguments[:end], "--configfile", str(path), *arguments[end:]]
    place = given[-1]
    option, equals, first = arguments[place].partition("=")
    stop = next((at for at in range(place + 1, end) if arguments[at].startswith("-")), end)
    named = [first] if equals else arguments[place + 1 : stop]
    return [*arguments[:place], option, *named, str(path), *arguments[place + 1 if equals else stop :]]


def edited(path: Path, edits: Edits) -> str:
    """Return the text of a config file with other values; comments and order stay."""
    if path.suffix == ".json":
        content = json.loads(read_text(path))
        for key, value in edits.items():
            _set(content, key, value)
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    from ruamel.yaml import YAML

    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 4096
    content = editor.load(read_text(path))
    for key, value in edits.items():
        _set(content, key, value)
    buffer = io.StringIO()
    editor.dump(content, buffer)
    return buffer.getvalue()


def _sort(value: Any) -> str:
    """How a value is written in YAML, integers and fractions alike."""
    if isinstance(value, bool) or value is None:
        return type(value).__name__
    return "number" if isinstance(value, int | float) else type(value).__name__


def _has(content: Any, key: str) -> bool:
    try:
        _get(content, key)
    except (KeyError, IndexError, TypeError, ValueError):
        return False
    return True


def _get(content: Any, key: str) -> Any:
    names = key.split(".")
    return reduce(lambda place, name: place[int(name) if isinstance(place, list) else name], names, content)


def _set(content: Any, key: str, value: Any) -> None:
    above, _, last = key.rpartition(".")
    place = _get(content, above) if above else content
    place[int(last) if isinstance(place, list) else last] = value
