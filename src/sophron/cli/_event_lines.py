"""Lines that people read of a run, made from the events alone: one for each finished step, failure, wait and gate.

The logger prints these lines in the terminal of the run, `sophron watch` in any other.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sophron.campaign.rendering import formatting
from sophron.campaign.state import projector as states
from sophron.campaign.state.campaign_state import plain
from sophron.records import events, sanitize
from sophron.records.events import Event
from sophron.records.terminal import next_line

TAIL_BYTES = 65_536
LONG_S = 100.0
DECISIVE = re.compile(r"error|exception|killed|out of memory|no space left|^sophron \w+:", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """One line. kind: done, failed, error, waits, gate, ended or says; count: jobs done and all jobs of the run.

    seconds: wall time; below: further lines that belong to it: the log's decisive one, its path, the next command.
    """

    kind: str
    name: str = ""
    stage: str = ""
    seconds: float | None = None
    memory_mb: float | None = None
    count: tuple[int, int] | None = None
    text: str = ""
    below: tuple[str, ...] = ()

    def plain(self) -> str:
        """Return the line and what belongs to it as text."""
        return "\n".join([self.head(), *(f"        {line}" for line in self.below)])

    def head(self, *, narrow: bool = False) -> str:
        """Return the first line; narrow: without the columns that a small terminal has no room for."""
        if not self.name:
            return f"{self.kind:<7} {self.text}" if self.kind != "says" else self.text
        columns = [
            f"{self.kind:<7}",
            f"{self.name:<22}",
            f"{_duration(self.seconds):>8}",
            f"{_memory(self.memory_mb):>9}",
        ]
        if not narrow:
            columns.insert(1, f"{_count(self.count):>9} {self.stage:<12}")
        return " ".join([*columns, "", self.text]).rstrip()


def _count(count: tuple[int, int] | None) -> str:
    return f"[{count[0]}/{count[1]}]" if count else ""


def _duration(seconds: float | None) -> str:
    """Tenths of short times, unless they come from records that have whole seconds only."""
    if seconds is None:
        return ""
    digits = 0 if seconds >= 10 or seconds == int(seconds) else 1
    return formatting.duration(seconds) if seconds >= LONG_S else f"{seconds:.{digits}f} s"


def _memory(memory_mb: float | None) -> str:
    return "" if memory_mb is None else f"{memory_mb:,.0f} MB"


@dataclass
class _Step:
    """What was read of a step so far. since: when it was queued; log: its log or folder of logs; text: what it says."""

    since: str | None = None
    log: str | None = None
    status: str | None = None
    reason: str | None = None
    wall_s: float | None = None
    peak_memory_mb: float | None = None
    text: str = ""


class EventLines:
    """Reads a campaign's events on and tells what people want to know of them. since: byte to begin at (now: None)."""

    def __init__(self, root: Path, since: int | None = None) -> None:
        path = root / events.FILE
        self._root = root
        self._offset = since if since is not None else path.stat().st_size if path.exists() else 0
        self._steps: dict[str, _Step] = {}

    def read(self) -> list[Line]:
        """Return the lines of what happened since the last call."""
        news, self._offset = events.read_typed(self._root, self._offset)
        lines = []
        for event in news:
            handler = getattr(self, f"_on_{event.event}", None)
            line = handler(event) if handler else None
            if line is not None:
                lines.append(line)
        return lines

    def _about(self, step: str) -> "_Step":
        return self._steps.setdefault(step, _Step())

    def _on_step_queued(self, event: Event) -> None:
        step = self._about(event.step)
        step.since, step.log = event.time, event.log or step.log

    def _on_step_started(self, event: Event) -> None:
        step = self._about(event.step)
        step.log, step.reason = event.log, None

    def _on_step_ended(self, event: Event) -> None:
        step = self._about(event.step)
        step.status, step.reason = event.status, event.reason
        step.wall_s, step.peak_memory_mb = event.wall_s, event.peak_memory_mb

    def _on_refused(self, event: Event) -> None:
        self._about(event.step).reason = event.reason

    _on_agent_failed = _on_refused

    def _on_verdict(self, event: Event) -> None:
        self._about(f"verify-{event.stage}").text = event.verdict
        if event.verdict == "fail":
            self._about(f"accept-{event.stage}").reason = "; ".join(event.failed)

    def _on_agent_answered(self, event: Event) -> None:
        self._about(event.step).text = f"{event.model}: {plain(event.summary)}"

    def _on_job_finished(self, event: Event) -> Line:
        step = self._steps.pop(event.step, _Step())
        failed = step.status == "failed"
        seconds = step.wall_s
        return Line(
            "failed" if failed else "done",
            event.step,
            event.stage or "",
            _since(step.since, event.time) if seconds is None else seconds,
            step.peak_memory_mb,
            None if event.done is None or event.total is None else (event.done, event.total),
            plain(str(step.reason)) if failed else step.text or _lacking(step.reason),
        )

    def _on_job_error(self, event: Event) -> Line:
        step = self._steps.pop(event.step, _Step())
        cause, ended = plain(step.reason or ""), event.exit or "its end is unknown"
        log = step.log
        decisive = decisive_line(self._root / log) if log else None
        if not cause:
            cause, decisive = decisive or ended, None
        cause += _following(step.status)
        if event.step == "gate":
            return Line("gate", text=cause)
        below = [] if decisive is None or decisive in cause or cause in decisive else [decisive]
        below += [f"log: {log}"] if log else []
        following = states.stored(self._root)
        below += [self._next(following["next_command"])] if following and following["next_command"] else []
        return Line("failed", event.step, event.stage or "", text=cause, below=tuple(below))

    def _on_host_job_started(self, event: Event) -> None:
        self._about(event.step).since = event.time

    def _on_host_job_finished(self, event: Event) -> Line:
        count = None if event.done is None or event.total is None else (event.done, event.total)
        since = self._steps.pop(event.step, _Step()).since
        return Line("done", event.step, seconds=_since(since, event.time), count=count)

    def _on_host_job_failed(self, event: Event) -> Line:
        self._steps.pop(event.step, None)
        decisive = decisive_line(Path(event.log)) if event.log else None
        below = (f"log: {event.log}",) if event.log else ()
        return Line("failed", event.step, text=decisive or event.exit or "see Snakemake's log", below=below)

    def _on_run_error(self, event: Event) -> Line:
        return Line("error", text=plain(event.reason or ""))

    def _on_drafted(self, event: Event) -> Line:
        waits = "waits for a signature: sophron review, sophron approve"
        return Line("gate", text=f"version {event.version} is drafted and {waits}")

    def _on_approved(self, event: Event) -> Line:
        return Line("gate", text=f"version {event.version} is signed by {sanitize.one_line(event.approver)}")

    def _on_run_ended(self, event: Event) -> Line:
        state = states.stored(self._root)
        following = f"; {self._next(state['next_command'] or 'sophron answer')}" if state else ""
        return Line("ended", text=f"{event.done} of {event.total} jobs done{following}")

    def _next(self, command: str) -> str:
        return next_line(self._root, command).replace("Next", "next", 1)


def _following(status: str | None) -> str:
    """What comes after a try that left no outcome."""
    from sophron.campaign.execution.run_step import NEXT  # a tenth of a second, which failures alone need

    return f"; {NEXT[status]}" if status in NEXT else ""


def _lacking(reason: str | None) -> str:
    """What to say of a finished agent step whose agent gave no answer."""
    return f"no answer: {plain(reason)}" if reason else ""


def _since(begun: str | None, ended: str) -> float | None:
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds() if begun else None


def decisive_line(log: Path) -> str | None:
    """Return the line of a log, or of a folder's newest, that names the error, else its last line; None if empty."""
    try:
        logs = log.iterdir() if log.is_dir() else [log]
        texts = [path for path in logs if path.is_file() and path.suffix != ".json"]  # a FIFO would be waited for
        with max(texts, key=lambda path: path.stat().st_mtime).open("rb") as stream:
            stream.seek(max(0, stream.seek(0, 2) - TAIL_BYTES))
            text = stream.read().decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    lines = [line for line in map(plain, text.splitlines()) if line]
    return next((line for line in reversed(lines) if DECISIVE.search(line)), lines[-1] if lines else None)
