"""The live display of a terminal: for each campaign a bar with the time left, what runs, and who is waited for."""

import os
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sophron.cli import _campaign_status
from sophron.cli._event_lines import Line
from sophron.records import SPEC_NAME, events, sanitize

MOST_RUNNING = 6
NARROW = 72
STALE_S = 5.0
STYLES = {
    "done": "green",
    "failed": "bold red",
    "error": "bold red",
    "waits": "yellow",
    "gate": "yellow",
    "ended": "bold",
}


class Campaign:
    """What is to be shown of the campaign at `root`: looked at again when a file of it changed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._key: object = None
        self._seen: dict[str, Any] = {}

    def seen(self) -> dict[str, Any]:
        """Return the state with what is live of it."""
        key = self._times()
        if key != self._key:
            self._seen = _campaign_status.view(self.root, whole=False)
            self._key = self._times()
        return self._seen

    def _times(self) -> tuple[float, ...]:
        """When the files last changed, and which span of time it is: processes end without touching a file."""
        running = (self.root / step["log"] for step in self._seen.get("live", {}).get("steps", ()))
        files = [self.root / events.FILE, self.root / SPEC_NAME, *running]
        return (*map(_mtime_ns, files), time.monotonic() // STALE_S)


def _mtime_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _environment() -> dict[str, str]:
    """Return the environment without the size that a shell once exported: the terminal knows its own."""
    return {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}


class Display:
    """The display of some campaigns on one terminal."""

    def __init__(self, roots: Sequence[Path], stream: TextIO, *, no_color: bool = False) -> None:
        self._console = Console(
            file=stream, no_color=no_color or None, highlight=False, markup=False, emoji=False, _environ=_environment()
        )
        self._campaigns = [Campaign(root) for root in roots]
        self._live: Live | None = None

    def start(self) -> None:
        """Begin to show, unless it is shown."""
        if self._live is None:
            self._live = Live(
                console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start()
            self._console.show_cursor(show=True)  # whoever is killed cannot give it back
            self.refresh()  # a short run may be over before the first look

    def refresh(self) -> None:
        """Look at the campaigns and show them as they are now."""
        if self._live is not None:
            self._live.update(self._page(), refresh=True)

    def print(self, line: Line) -> None:
        """Print a line above the display."""
        narrow = self._console.width < NARROW
        text = Text(line.head(narrow=narrow), no_wrap=line.kind == "done", overflow="ellipsis")
        text.stylize(STYLES.get(line.kind, ""), 0, len(line.kind) if line.kind != "says" else 0)
        self._console.print(text, *(Text(f"        {below}") for below in line.below), sep="\n")

    def stop(self) -> None:
        """Take the display off the terminal."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _page(self) -> RenderableType:
        return Group(*(row for one in self._campaigns for row in rows(one.seen(), one.root.name, self._console.width)))


def rows(seen: dict[str, Any], name: str, width: int) -> list[RenderableType]:
    """Return the rows of one campaign for a terminal of `width` columns."""
    live = seen["live"]
    running = [step for step in live["steps"] if step["state"] != "ended"]
    texts = [(f"  {step['step']:<22} {_state(step)}", "red" if step["state"] == "lost" else "") for step in running]
    more = max(0, len(running) - MOST_RUNNING)
    queued = f"{len(seen['queued'])} queued" if seen["queued"] else ""
    rest = ", ".join(filter(None, [f"{more} more running" if more else "", queued]))
    texts = [*texts[:MOST_RUNNING], *([(f"  and {rest}", "dim")] if rest else [])]
    texts += [(f"  waits for a {one['kind']}: {_what(one)}", "yellow") for one in live["waiting_for"]]
    if live["driver"] != "running":
        fate = {"lost": "snakemake is lost", "elsewhere": "snakemake runs elsewhere"}.get(live["driver"], "no run")
        following = (
            live["next"].removeprefix("nothing: ") if live["next"].startswith("nothing") else f"next: {live['next']}"
        )
        texts.append((f"  {fate}; {following}", "red" if live["driver"] == "lost" else ""))
    return [_bar(seen, name, width), *(Text(text, style, no_wrap=True, overflow="ellipsis") for text, style in texts)]


def _what(one: dict[str, Any]) -> str:
    return sanitize.one_line(one["what"] + (f": {one['command']}" if one["command"] else ""))


def _bar(seen: dict[str, Any], name: str, width: int) -> RenderableType:
    done = sum(len(stage["outputs"]) for stage in seen["stages"])
    total = sum(stage["steps"] for stage in seen["stages"])
    left = (
        "done"
        if seen["workflow_status"] == "completed"
        else f"{_campaign_status.time_left_text(seen['live']['eta'])} left"
    )
    grid = Table.grid(padding=(0, 1))
    for _ in range(4):
        grid.add_column(no_wrap=True, overflow="ellipsis")
    cells: list[RenderableType] = [Text(f"{done}/{total}{' steps' if width >= NARROW else ''}"), Text(left)]
    bar = ProgressBar(total=max(total, 1), completed=done, width=max(6, min(40, width // 4)))
    grid.add_row(*([Text(sanitize.one_line(seen["workflow_id"] or name))] if width >= NARROW else []), bar, *cells)
    return grid


def _state(step: dict[str, Any]) -> str:
    if step["state"] == "lost":
        return "lost; run snakemake again"
    where = " elsewhere" if step["state"] == "elsewhere" else ""
    if step["progress"]:
        return _campaign_status.how_far(step["progress"]) + where
    elapsed = (datetime.now().astimezone() - datetime.fromisoformat(step["started_at"])).total_seconds()
    return f"running{where}, {_campaign_status.duration(max(0.0, elapsed))}"
