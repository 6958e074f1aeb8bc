"""The registries: kinds, probes, sandbox backends are entry points, found by group and name."""

from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from sophron.records.errors import UserError


def names(group: str) -> list[str]:
    """Sorted names in an entry-point group such as "sophron.kinds"."""
    return sorted({entry.name for entry in entry_points(group=group)})


def load(group: str, name: str) -> Any:
    """The object called `name` in `group`; UserError that lists the known names where there is none."""
    found: dict[str, EntryPoint] = {entry.name: entry for entry in entry_points(group=group)}
    if name not in found:
        near = get_close_matches(name, found, n=1)
        hint = f'did you mean "{near[0]}"?' if near else f"known are {', '.join(sorted(found)) or 'none'}"
        raise UserError(f'"{name}" is not installed in the registry {group}; {hint}')
    return found[name].load()
