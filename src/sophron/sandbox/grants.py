"""The `grants` block of a spec or a definition: plain data to a Grant, and to the lines that a reviewer reads."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sophron.interfaces.sandbox import Grant
from sophron.records.documents import Document, Key, validate
from sophron.records.errors import UserError, shown
from sophron.sandbox import mounts

DEFAULTS: Mapping[str, int] = {
    "walltime_min": 15,
    "cpu_min": 10,
    "memory_mb": 2000,
    "processes": 128,
    "file_mb": 500,
    "disk_mb": 2000,
}
"""Default limits: an agent's program is never without bounds."""

_UNITS = {
    "walltime_min": "minutes of wall time",
    "cpu_min": "CPU minutes",
    "memory_mb": "MB of memory",
    "processes": "processes",
    "file_mb": "MB a file",
    "disk_mb": "MB in the work folder",
}


def check(document: Document, at: Sequence[Key] = ()) -> None:
    """Refuse a block that does not fit `schemas/grant.schema.yaml`, or whose mounts leave their place by "..".

    Raises UserError with file, line and key.
    """
    validate(document, "grant", at=at)
    block = document.data
    for key in at:
        block = block[key]
    for number, path in enumerate(block.get("mounts", [])):
        if ".." in Path(path).parts:
            raise UserError(
                f'{document.where((*at, "mounts", number))}: has ".." in it; name the folder from its beginning'
            )


def grant(
    block: Mapping[str, Any],
    workdir: Path,
    *,
    root: Path,
    read_only: Sequence[Path] = (),
    env: Mapping[str, str] | None = None,
) -> Grant:
    """Return the grant that a checked block stands for. root: the campaign's folder, which relative mounts start from.

    read_only: the step's declared inputs; env: its environment. UserError for a relative mount that leads out of it.
    """
    limits = {**DEFAULTS, **{key: value for key, value in block.items() if key in DEFAULTS}}
    return Grant(
        workdir,
        read_only=[*read_only, *(_mount(root, path) for path in block.get("mounts", []))],
        env=env or {},
        network=block.get("network", False),
        cpu_s=60 * limits["cpu_min"],
        memory_mb=limits["memory_mb"],
        file_mb=limits["file_mb"],
        wall_s=60 * limits["walltime_min"],
        processes=limits["processes"],
        disk_mb=limits["disk_mb"],
        devices=mounts.accelerators() if block.get("gpu", False) else (),
    )


def _mount(root: Path, path: str) -> Path:
    """A relative mount was signed as a folder of the campaign: a link to elsewhere in its place is another one."""
    place = root / path
    inside = Path(path).is_absolute() or place.resolve().is_relative_to(root.resolve())
    if not inside:
        raise UserError(f"{place}: leads out of the campaign's folder; grant what it points to by its whole path")
    return place


def lines(block: Mapping[str, Any]) -> list[str]:
    """Return a checked block as the review shows it: what is given away first, then the limits; always all of them.

    A function of the block alone, not of the machine: equal blocks give equal lines.
    """
    given = []
    if block.get("network", False):
        given.append("network: YES, whatever this machine reaches, its local services too")
    if block.get("gpu", False):
        given.append("gpu: yes, the accelerators' device nodes")
    given += [f"reads: {shown(os.path.normpath(path), 200)}" for path in sorted(block.get("mounts", []))]
    limits = [f"{block.get(key, most)} {_UNITS[key]}" for key, most in DEFAULTS.items()]
    asked = [f"its own tools ask {host}: what they ask leaves this machine" for host in sorted(block.get("hosts", []))]
    return [*asked, *(given or ["nothing beyond its inputs and its work folder"]), f"at most {', '.join(limits)}"]


def server_lines(block: Mapping[str, Any]) -> list[str]:
    """Return what a campaign grants to the servers of an agent (`agents.by_name.<agent>.grants`), for the review."""
    reads = [f"its own servers read: {shown(os.path.normpath(path), 200)}" for path in sorted(block.get("mounts", []))]
    variables = sorted(block.get("variables", {}).items())
    return [*reads, *(f"its own servers get {name}: {shown(value, 200)}" for name, value in variables)]
