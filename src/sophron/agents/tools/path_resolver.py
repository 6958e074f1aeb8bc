"""Resolve the paths that a tool is given: `scratch/...` or `<input>/...`, never a path of the machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sophron.agents.tools.safe_open import OutsideError
from sophron.records.errors import UserError, shown

SCRATCH = "scratch"


@dataclass(frozen=True)
class Place:
    """One path below a root. root: a folder, or a single input file (then `parts` is empty)."""

    root: Path
    parts: tuple[str, ...]
    writable: bool


class Places:
    """The roots of a step by name: its scratch, and its declared inputs (files or folders).

    scratch and inputs are paths that the step names, so links in them are followed once, here; below them none is.
    Raises UserError if one is missing, is neither file nor folder, or lies in scratch and leads out of it.
    """

    def __init__(self, scratch: Path, inputs: Mapping[str, Path]) -> None:
        if SCRATCH in inputs:
            raise UserError(f'an input is called "{SCRATCH}", which is the name of the work folder; rename the input')
        self._asked = {SCRATCH: scratch.absolute(), **{name: path.absolute() for name, path in inputs.items()}}
        self.roots = {name: _resolved(path) for name, path in self._asked.items()}
        home = self.roots[SCRATCH]
        for name, path in self.roots.items():
            if _within(self._asked[name], self._asked[SCRATCH], home) and home not in (path, *path.parents):
                raise UserError(f"{self._asked[name]}: leads out of the work folder; name the file that it points to")

    def find(self, path: str) -> Place:
        """Return the place that a model's `path` names; OutsideError with one sentence where it names none."""
        for name, asked in self._asked.items():
            for whole in (str(asked), str(self.roots[name])):
                if path == whole or path.startswith(f"{whole}/"):
                    return self._place(name, path[len(whole) :].strip("/"))
        name, _, rest = path.strip("/").partition("/")
        if path.startswith("/") or name not in self.roots:
            raise OutsideError(f'"{shown(path)}" is outside; paths begin with {", ".join(self.roots)}')
        return self._place(name, rest.rstrip("/"))

    def _place(self, name: str, rest: str) -> Place:
        parts = tuple(rest.split("/")) if rest else ()
        if ".." in parts:
            raise OutsideError('".." is refused; name the path from its beginning')
        if parts and self.roots[name].is_file():
            raise OutsideError(f'"{name}" is a file, so nothing lies below it')
        return Place(self.roots[name], tuple(part for part in parts if part != "."), name == SCRATCH)


def _resolved(path: Path) -> Path:
    try:
        found = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise UserError(f"{path}: a tool's root does not exist; make it first") from None
    if not (found.is_file() or found.is_dir()):
        raise UserError(f"{path}: is neither a file nor a folder, so no tool can read it; grant something else")
    return found


def _within(path: Path, *folders: Path) -> bool:
    return any(folder in path.parents for folder in folders)
