"""The edit boundary: which files of an agent may change, and what must not cross into them (AgentBuild, table III)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from sophron.records.documents import Document, validate
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json

SCHEMA = "build/boundary"
DEPTH = 2
"""Files lie in the folder of the agent or one below it."""
PLAIN = re.compile(r"[a-z0-9][a-z0-9_.-]*")


@dataclass(frozen=True)
class Surface:
    """One surface of the assembly. paths: patterns of its files; part: what of them it is; schema: of its files."""

    name: str
    owner: str
    envelope: Literal["in", "out", "case"]
    paths: tuple[str, ...] = ()
    part: Literal["whole", "prompt"] = "whole"
    schema: str = ""


@dataclass(frozen=True)
class Boundary:
    """All surfaces. opened: those of the envelope `case` that may change; the rest are limits in words and bytes."""

    surfaces: tuple[Surface, ...]
    opened: frozenset[str]
    run_words: int
    most_words: int
    diff_bytes: int
    agent_bytes: int
    files: int

    def surface_of(self, path: str) -> Surface | None:
        """Return the surface that a file of the agent belongs to, by its path relative to the agent's folder."""
        parts = path.split("/")
        for surface in self.surfaces:
            for pattern in surface.paths:
                wanted = pattern.split("/")
                if len(wanted) == len(parts) and all(
                    PurePosixPath(part).match(one) for part, one in zip(parts, wanted, strict=True)
                ):
                    return surface
        return None

    def may_change(self, surface: Surface) -> bool:
        """Return whether the meta-optimizer may write to a surface in this build."""
        return surface.envelope == "in" or (surface.envelope == "case" and surface.name in self.opened)

    def refusal(self, path: str) -> str | None:
        """Return why the file called `path` must not be written, or None if it may be. One sentence without its end.

        A name is taken as it is written: what only looks like an editable file (other case, dots, a link's way round)
        is none.
        """
        parts = path.split("/")
        if len(parts) > DEPTH or not all(PLAIN.fullmatch(part) and ".." not in part for part in parts):
            return f"{path} is no plain path below the agent's folder"
        surface = self.surface_of(path)
        if surface is None:
            return f"{path} belongs to no surface of the agent"
        if not self.may_change(surface):
            why = "is frozen" if surface.envelope == "out" else "is not opened in boundary.yaml"
            return f"{path} belongs to the {surface.name}, which {why}"
        return None


def read(document: Document) -> Boundary:
    """Return the boundary that a document states; UserError with file and key if it cannot be one."""
    validate(document, SCHEMA)
    data = document.data
    surfaces = tuple(from_json(Surface, one) for one in data["surfaces"])
    opened = frozenset(data.get("opened", []))
    by_name = {one.name: one for one in surfaces}
    for name in sorted(opened):
        if name not in by_name or by_name[name].envelope != "case":
            raise UserError(f'{document.where(["opened"])}: "{name}" is no surface with the envelope case; remove it')
    _check_apart(document, surfaces)
    return Boundary(
        surfaces=surfaces,
        opened=opened,
        run_words=data["similarity"]["words"],
        most_words=data["similarity"]["most_words"],
        **data["limits"],
    )


def _check_apart(document: Document, surfaces: Sequence[Surface]) -> None:
    seen: dict[str, str] = {}
    for number, surface in enumerate(surfaces):
        for path in surface.paths:
            if path in seen:
                where = document.where(["surfaces", number, "paths"])
                raise UserError(f"{where}: {path} belongs to {seen[path]} too; a file has one owner")
            seen[path] = surface.name
