"""The restart files that a campaign's steps keep in scratch: which there are, and moving away those nobody needs."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from sophron.campaign.spec import engines
from sophron.records.files import move

KEPT = 2
"""Whole restart files that a step keeps: an engine may be killed while it writes the newest."""


def list_restarts(root: Path) -> list[dict[str, object]]:
    """List restart files below `scratch/`: step (its folder), file, bytes, timestep, order of writing, whole or not."""
    restarts = []
    for folder in sorted((root / "scratch").glob("*/*/")):
        files = [one for engine in engines.installed() for one in engine.restart_files(folder)]
        # The order counts, not the clock: an agent's inputs must be the same when they mean the same. A copy of the
        # campaign may have lost the times, so the engine's own step comes first.
        files.sort(key=lambda one: (one.timestep or 0, one.path.stat().st_mtime_ns, one.path.name))
        for order, one in enumerate(files, start=1):
            about = {"step": str(folder.relative_to(root / "scratch")), "file": one.path.name, "order": order}
            about |= {"bytes": one.path.stat().st_size, "timestep": one.timestep, "valid": one.valid}
            restarts.append(about)
    return restarts


def prune(root: Path, files: Iterable[Mapping[str, str]]) -> list[Path]:
    """Move restart files (entries with step and file) to `scratch/pruned/`; where they lie now. Nothing is deleted."""
    moved = []
    for one in files:
        target = root / "scratch" / "pruned" / one["step"] / one["file"]
        move(root / "scratch" / one["step"] / one["file"], target)
        moved.append(target)
    return moved
