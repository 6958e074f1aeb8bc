"""The restart files that a campaign's steps keep in scratch: which there are, and moving away those nobody needs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sophron.records.atomic import move
from sophron.science.lammps.segments import RESTART, is_whole, timestep_of

KEPT = 2
"""Whole restart files that a step keeps; LAMMPS writes two in turn."""


def found(root: Path) -> list[dict[str, Any]]:
    """Restart files below `scratch/`: step (its folder), file, bytes, timestep, order of writing, whole or not."""
    listed = []
    for folder in sorted({path.parent for path in (root / "scratch").glob("*/*/*.restart")}):
        files = [path for path in folder.iterdir() if RESTART.fullmatch(path.name)]
        # The order counts, not the clock: an agent's inputs must be the same when they mean the same.
        for order, path in enumerate(sorted(files, key=lambda one: (one.stat().st_mtime_ns, one.name)), start=1):
            about = {"step": str(folder.relative_to(root / "scratch")), "file": path.name, "order": order}
            about |= {"bytes": path.stat().st_size, "timestep": timestep_of(path), "valid": is_whole(path)}
            listed.append(about)
    return listed


def prune(root: Path, files: Iterable[Mapping[str, str]]) -> list[Path]:
    """Move restart files (entries with step and file) to `scratch/pruned/`; where they lie now. Nothing is deleted."""
    moved = []
    for one in files:
        target = root / "scratch" / "pruned" / one["step"] / one["file"]
        move(root / "scratch" / one["step"] / one["file"], target)
        moved.append(target)
    return moved
