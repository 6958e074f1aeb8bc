"""The registries: kinds, probes, sandbox backends are entry points, found by group and name."""

import sys
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, PackageNotFoundError, distribution, entry_points
from typing import Any, cast

from sophron.records.errors import UserError, did_you_mean


def _entries(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in _scanned(tuple(sys.path)).select(group=group)} | _own(group)


@cache
def _own(group: str) -> dict[str, EntryPoint]:
    """Sophron's own entries. Nobody else's takes their names, and reading them needs no scan."""
    try:
        return {entry.name: entry for entry in distribution("sophron").entry_points if entry.group == group}
    except PackageNotFoundError:  # run from a bare copy of the sources
        return {}


@cache
def _scanned(path: tuple[str, ...]) -> EntryPoints:
    """A scan reads the metadata of every installed distribution, so it is done once for a search path."""
    del path
    return cast("EntryPoints", entry_points())  # on 3.11 a dictionary that can be asked the same


def names(group: str) -> list[str]:
    """Return the sorted names in an entry-point group such as "sophron.kinds"."""
    return sorted(_entries(group))


def module(group: str, name: str) -> str | None:
    """Return the name of the module that holds the object called `name` in `group`; None if there is none."""
    entry = _entries(group).get(name)
    return entry.module if entry else None


def load(group: str, name: str) -> Any:
    """Return the object called `name` in `group`; UserError that lists the known names if there is none."""
    if name in _own(group):
        return _own(group)[name].load()
    found = _entries(group)
    if name not in found:
        raise UserError(f'"{name}" is not installed in the registry {group}; {did_you_mean(name, sorted(found))}')
    return found[name].load()
