"""GSAS-II and rietx as engines: the patterns of a series that are done, and the cycles of an agent's session."""

from __future__ import annotations

from pathlib import Path

from sophron.interfaces.engine import Engine, Progress
from sophron.records import step_progress

TRAJECTORY = "session/trajectory.json"


class PowderEngine(Engine):
    """A program that refines powder patterns. A cycle takes seconds, so it keeps no restart files."""

    def __init__(self, title: str, home_page: str) -> None:
        self.title, self.home_page = title, home_page

    def progress(self, workdir: Path, log_dir: Path) -> Progress | None:
        """Read the patterns that are done, or the cycles in the record of a session."""
        del log_dir
        return step_progress.read(workdir / step_progress.NAME, "patterns") or _cycles(workdir / TRAJECTORY)


def _cycles(path: Path) -> Progress | None:
    """Count the cycles of a session, which has no planned number of them."""
    calls = (step_progress.read_json(path) or {}).get("calls")
    if not isinstance(calls, list):
        return None
    cycles = sum(isinstance(one, dict) and one.get("ended") is not None for one in calls)
    return Progress(cycles, None, unit="cycles")


GSAS2 = PowderEngine("GSAS-II", "https://gsas-ii.readthedocs.io/")
RIETX = PowderEngine("rietx", "https://github.com/yue-here/rietx")
