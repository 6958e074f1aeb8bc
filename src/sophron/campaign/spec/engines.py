"""The installed engines: which one a step runs, how far that is, and which accelerators want a GPU.

A campaign knows engines by `interfaces.engine` alone; who they are, the entry points `sophron.engines` say.
"""

from pathlib import Path

from sophron.interfaces.engine import Engine, Progress
from sophron.records import entry_points, step_progress
from sophron.records.errors import UserError

REGISTRY = "sophron.engines"
TRY_NAME = "try.json"
"""Note of a try, in its folder below `records/`; it names the engine."""


def installed() -> list[Engine]:
    """Return all engines, by name."""
    return [entry_points.load(REGISTRY, name) for name in entry_points.names(REGISTRY)]


def find(name: str) -> Engine | None:
    """Return the engine called `name`; None if no such engine is installed."""
    try:
        engine: Engine = entry_points.load(REGISTRY, name)
    except UserError:  # a campaign may be looked at where its engines are not
        return None
    return engine


def wants_gpu(accelerator: str) -> bool:
    """Return whether an installed engine runs on a GPU with this value of the mechanical key `accelerator`."""
    return accelerator != "none" and any(accelerator in engine.gpu_accelerators for engine in installed())


def progress_of_try(root: Path, log: Path) -> Progress | None:
    """Return how far a compute step is, as its engine reads it; None if it has none. log: folder of its try."""
    note = step_progress.read_json(log / TRY_NAME) or {}
    folder = root / "scratch" / str(note.get("digest"))[:16] / str(note.get("step"))
    if "engine" not in note:  # an older try does not name it
        return _first(folder, log)
    engine = find(str(note["engine"])) if note["engine"] else None
    return engine.progress(folder, log) if engine else None


def progress_of_agent(root: Path, step: str) -> Progress | None:
    """Return how far an engine is that an agent drives with its tools; None if none has begun."""
    folder = root / "scratch" / "agents" / step
    return _first(folder, folder) if folder.is_dir() else None


def _first(workdir: Path, log: Path) -> Progress | None:
    found = (engine.progress(workdir, log) for engine in installed())
    return next((one for one in found if one), None)
