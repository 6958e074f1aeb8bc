"""Print a run: one line for each event and, on a terminal, below it a display of what runs now.

Whatever fails here, the run goes on: the live display falls back to lines, and lines fall back to Snakemake's own text.
"""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from logging import WARNING, LogRecord
from pathlib import Path
from typing import Any, Protocol, TextIO

from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_sophron.snakemake_text import SnakemakeText
from sophron.cli._event_lines import EventLines, Line
from sophron.records import sanitize

# Snakemake's messages without an event that a person wants to see, and its errors that say nothing new.
WORTH_SAYING = ("Nothing to be done", "Terminating processes", "Will exit after finishing")
SAID_ALREADY = ("Exiting because a job execution failed.", "At least one job did not complete successfully.")
TICK_S = 1.0
SHARE = 20  # of its time, the display takes one part in so many at most


class View(Protocol):
    """One way to show a run."""

    def show(self, record: LogRecord) -> None:
        """Show one record of Snakemake."""

    def close(self) -> None:
        """Show what is left, and let go of the terminal."""


class Screen:
    """The view of a run, and the simpler ones behind it. root: the campaign; None if there is none."""

    def __init__(self, settings: Any, quiet: frozenset[str], root: Path | None) -> None:
        self._views = list(_views(settings, quiet, root))
        self._view: View = self._views.pop(0)()

    def show(self, record: LogRecord) -> None:
        """Show one record of Snakemake, by a simpler view if this one fails."""
        try:
            self._view.show(record)
        except Exception as fault:  # noqa: BLE001  # whatever it is, the run goes on
            self.give_up(fault)
            self._view.show(record)

    def give_up(self, fault: Exception) -> None:
        """Go on with the next simpler view."""
        if self._views:
            with contextlib.suppress(Exception):
                self._view.close()
            self._view = self._views.pop(0)()
            with contextlib.suppress(OSError):
                print(
                    f"sophron: the display failed ({type(fault).__name__}: {fault}); plainer from here", file=sys.stderr
                )

    def close(self) -> None:
        """Show what is left."""
        with contextlib.suppress(Exception):
            self._view.close()


def _views(settings: Any, quiet: frozenset[str], root: Path | None) -> list[Callable[[], View]]:
    """The ways to show this run, the best first."""
    stream = sys.stdout if settings.stdout else sys.stderr
    views: list[Callable[[], View]] = [lambda: SnakemakeText(settings)]
    if root is None:
        return views
    views.insert(0, lambda: Lines(root, stream, quiet))
    if stream.isatty() and os.environ.get("TERM") != "dumb" and not quiet & {"PROGRESS", "ALL"}:
        views.insert(0, lambda: LiveLines(root, stream, quiet, no_color=bool(settings.nocolor)))
    return views


class Lines:
    """One plain line a finished step, failure, wait or gate."""

    def __init__(self, root: Path, stream: TextIO, quiet: frozenset[str]) -> None:
        self._root, self._stream, self._quiet = root, stream, quiet
        self._events = EventLines(root)
        self._last_error = ""
        self._lock = threading.RLock()
        self._begin_ticking()

    def show(self, record: LogRecord) -> None:
        """Show what the record of events has meanwhile, and what is not in it."""
        if self._fault is not None:
            raise self._fault
        with self._lock:
            self._show_news()
            line = self._line(record)
            if line is not None:
                self._show(line)

    def close(self) -> None:
        """Show what is left."""
        self._ticking.set()
        with self._lock:
            self._show_news()

    def _show_news(self) -> None:
        for line in self._events.read():
            if line.kind != "error":  # Snakemake tells us, in full
                self._show(line)

    def _show(self, line: Line) -> None:
        hidden = (
            {"ALL"}
            if line.kind in {"failed", "error"}
            else {"ALL", "RULES"}
            if line.kind == "done"
            else {"ALL", "PROGRESS"}
        )
        if not hidden & self._quiet:
            self._print(line)

    def _print(self, line: Line) -> None:
        print(line.plain(), file=self._stream, flush=True)

    def _line(self, record: LogRecord) -> Line | None:
        values = vars(record)
        event, message = values.get("event"), record.getMessage().strip()
        if event == LogEvent.RUN_INFO:
            return Line("says", text=f"{sanitize.one_line(self._root.name)}: {values['stats']['total']} jobs to do")
        if event == LogEvent.ERROR and values.get("exception") != "RuleException":  # a job's has a line of its own
            return self._error_line(message)
        if event is not None or not message or message.startswith(SAID_ALREADY):
            return None
        if record.levelno >= WARNING:
            return Line(record.levelname.lower(), text=message)
        return Line("says", text=message) if message.startswith(WORTH_SAYING) else None

    def _error_line(self, message: str) -> Line | None:
        """What stopped Snakemake, with all its lines, once."""
        if message == self._last_error or any(said in message for said in SAID_ALREADY):
            return None
        self._last_error = message
        return Line("error", text=message)

    # What nobody tells us of: who is waited for, how far the engines are

    def _begin_ticking(self) -> None:
        self._ticking = threading.Event()
        self._waits: set[str] = set()
        self._fault: Exception | None = None
        threading.Thread(target=self._tick, name="sophron-display", daemon=True).start()

    def _tick(self) -> None:
        pause = TICK_S
        while not self._ticking.wait(pause):
            begun = time.monotonic()
            try:
                with self._lock:
                    if not self._ticking.is_set():
                        self._look()
            except Exception as fault:  # noqa: BLE001  # told where the next record is shown
                self._fault = fault
                return
            pause = max(TICK_S, SHARE * (time.monotonic() - begun))

    def _look(self) -> None:
        """Say once who is waited for: an agent's model, a person."""
        from sophron.cli import _campaign_status

        self._show_news()
        for one in _campaign_status.asked(self._root):
            told = f"{one['what']} waits for a {one['kind']}" + (f": {one['command']}" if one["command"] else "")
            if told not in self._waits:
                self._waits.add(told)
                self._show(Line("waits", text=told))


class LiveLines(Lines):
    """Lines that scroll, and below them the campaign as it is now."""

    def __init__(self, root: Path, stream: TextIO, quiet: frozenset[str], *, no_color: bool) -> None:
        from sophron.cli._live_display import Display

        self._display = Display([root], stream, no_color=no_color)
        super().__init__(root, stream, quiet)

    def show(self, record: LogRecord) -> None:
        """Show it; the display begins with the first job."""
        super().show(record)
        if getattr(record, "event", None) == LogEvent.JOB_INFO:
            self._display.start()

    def close(self) -> None:
        """Take the display away, then say what is left."""
        self._ticking.set()
        self._display.stop()
        super().close()

    def _print(self, line: Line) -> None:
        self._display.print(line)

    def _look(self) -> None:
        self._show_news()
        self._display.refresh()
