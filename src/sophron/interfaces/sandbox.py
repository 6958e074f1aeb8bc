"""Interface of sandbox backends: run one program with nothing granted that was not listed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Grant:
    """All that a sandboxed program gets; the defaults grant nothing.

    workdir: the only writable folder (also its working directory). read_only: files and folders visible
    read-only at their own path. env: the whole environment. network: off unless True. devices: device nodes of
    accelerators, usable at their own path where they exist.
    cpu_s, memory_mb, file_mb, wall_s: limits (CPU seconds, address space, largest file, wall seconds); disk_mb: all
    files below the work folder together, and files that are deleted but still open.
    places: absolute path inside -> what is granted already, under this second name; writable if it is the work folder
    or below it, else read-only. start: working directory, if it is not the work folder.
    hidden: folders below granted ones that stand empty inside.
    """

    workdir: Path
    read_only: Sequence[Path] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    network: bool = False
    cpu_s: int | None = None
    memory_mb: int | None = None
    file_mb: int | None = None
    wall_s: float | None = None
    processes: int | None = None
    disk_mb: int | None = None
    devices: Sequence[Path] = ()
    places: Mapping[str, Path] = field(default_factory=dict)
    start: str = ""
    hidden: Sequence[Path] = ()


@dataclass(frozen=True)
class Ended:
    """How the program ended.

    returncode: its exit code, negative for a signal. limit: the limit that ended it, if any.
    """

    returncode: int
    limit: str | None = None


class SandboxBackend(ABC):
    """A way to run a program apart from the account that started it."""

    name: str

    @abstractmethod
    def missing(self) -> str | None:
        """Return one sentence that says what this machine lacks for this backend, or None if it works."""

    @abstractmethod
    def run(self, command: Sequence[str], grant: Grant, *, stdout: Path, stderr: Path) -> Ended:
        """Run `command` inside; its process group dies with the caller. Output goes to the two files."""
