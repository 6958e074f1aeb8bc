"""Snakemake logger plugin: what Snakemake sees of a campaign becomes events of its record.

Snakemake imports this package at every start, to find it: everything else is imported at the first job.
"""

import contextlib
import os
import re
import time
from dataclasses import dataclass, field
from logging import LogRecord
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

from sophron.records.import_path import put_campaign_last

ACTOR = "snakemake"
# The shell lines of our rules. A host pipeline may call a rule as it likes, but its line is a part of the plan.
LINE = re.compile(r"\bsophron (?:(?P<verb>stage|verify|accept) (?P<stage>[\w-]+)|(?P<alone>gate|report)) ")
EXIT = re.compile(r"died with <Signals\.(?P<signal>\w+)|returned non-zero exit status (?P<code>\d+)")
# Said at the end of every run with a failed job; the job has its own event.
FAREWELL = "At least one job did not complete successfully."
WILDCARD = re.compile(r" --wildcard (\w+)=(\S+)")
QUIET_S = 1.0  # least time between two counts of finished jobs in the record


put_campaign_last()  # before Snakemake reads the Snakefile: it imports every plugin first


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """Settings of `--logger sophron`."""

    campaign: str | None = field(
        default=None,
        metadata={
            "help": "Folder of the campaign, where it is not the working directory.",
            "env_var": False,
            "required": False,
            "type": str,
        },
    )


def _step(shellcmd: str) -> tuple[str, str | None, dict[str, str]] | None:
    """Name, stage and wildcards of the step that a shell line runs; None where it is none of Sophron's."""
    from sophron.records.steps import step_name

    line = LINE.search(shellcmd)
    if line is None:
        return None
    if line["alone"]:
        return line["alone"], None, {}
    if line["verb"] == "stage":
        wildcards = dict(WILDCARD.findall(shellcmd))
        return step_name(line["stage"], wildcards), line["stage"], wildcards
    wildcards = {"stage": line["stage"]}
    return step_name(line["verb"], wildcards), line["stage"], wildcards


class LogHandler(LogHandlerBase):
    """Appends events to the campaign's record; silent in a dry run and outside a campaign."""

    def __post_init__(self) -> None:
        """Start with no job known."""
        self._jobs: dict[int, dict[str, Any]] = {}
        self._version = "unknown"
        self._root: Path | None = None
        self._started = False
        self._counted_at = 0.0
        self._count = {"done": 0, "total": 0}
        self._last_error = ""
        self._exceptions: list[str] = []  # of jobs, told just before the job's own error

    @property
    def writes_to_stream(self) -> bool:
        """Nothing goes to the terminal."""
        return False

    @property
    def writes_to_file(self) -> bool:
        """The record is the campaign's own; Snakemake need not name it as a log file."""
        return False

    @property
    def has_filter(self) -> bool:
        """True: `--quiet` must not keep events from the record."""
        return True

    @property
    def has_formatter(self) -> bool:
        """True: records are translated, not formatted."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """False: the plan is known already."""
        return False

    def emit(self, record: LogRecord) -> None:
        """Translate one record of Snakemake."""
        if self.common_settings.dryrun:
            return
        event = getattr(record, "event", None)
        try:
            if event == LogEvent.WORKFLOW_STARTED:
                self._version = getattr(record, "snakemake_version", "unknown")
            elif event == LogEvent.RUN_INFO:
                self._count["total"] = vars(record)["stats"]["total"]
            elif event == LogEvent.JOB_INFO:
                self._queued(record)
            elif event == LogEvent.JOB_FINISHED:
                self._finished(record)
            elif event == LogEvent.JOB_ERROR:
                self._failed(record)
            elif event == LogEvent.PROGRESS:
                self._progress(record)
            elif event == LogEvent.ERROR:
                self._stopped(record)
        except OSError:
            # A full or read-only disk must not end the thread that serves all of Snakemake's loggers.
            self.handleError(record)

    def close(self) -> None:
        """Snakemake has ended in an orderly way."""
        if self._started:
            self._started = False
            with contextlib.suppress(OSError):  # told by emit already, and Snakemake must still end
                self._append("run_ended", pid=os.getpid(), host=os.uname().nodename, **self._count)
                self._project()
        super().close()

    def _campaign(self) -> Path | None:
        """The campaign's folder, found late: Snakemake changes its working directory after it made its loggers."""
        if self._root is None:
            given = getattr(self.settings, "campaign", None)
            root = Path(given or ".").absolute()
            if (root / "campaign.yaml").is_file():
                self._root = root
        return self._root

    def _append(self, event: str, **fields: Any) -> None:
        from sophron.records import events

        root = self._campaign()
        if root is None:
            return
        if not self._started and event not in {"run_ended", "run_error"}:
            from sophron.records import process

            self._started = True
            pid = os.getpid()
            start = process.start_of(pid)
            self._append("run_started", pid=pid, pid_start=start, host=process.host(), snakemake_version=self._version)
        events.append(root, ACTOR, event, **fields)

    def _project(self) -> None:
        from sophron.campaign import state

        root = self._campaign()
        if root is not None:
            state.project(root)

    def _queued(self, record: LogRecord) -> None:
        values: dict[str, Any] = vars(record)
        found = _step(values.get("shellcmd") or "")
        if found is not None:
            step, stage, wildcards = found
            job = {"step": step, "stage": stage, "wildcards": wildcards}
            job |= {"rule": values["rule_name"], "jobid": values["jobid"]}
            self._jobs[values["jobid"]] = job
            self._append("step_queued", **job)

    def _finished(self, record: LogRecord) -> None:
        # Counted here: `--quiet` keeps Snakemake from counting aloud.
        self._count["done"] += 1
        job = self._jobs.pop(vars(record)["job_id"], None)
        if job is not None:
            self._append("job_finished", **job)
        self._tell_count()

    def _failed(self, record: LogRecord) -> None:
        # Snakemake tells of one failure several times; the next try of the job is announced by another job_info.
        values: dict[str, Any] = vars(record)
        job = self._jobs.pop(values["jobid"], None)
        if job is not None:
            self._append("job_error", **job, exit=self._exit(values.get("shellcmd") or ""))
            self._project()

    def _exit(self, shellcmd: str) -> str | None:
        """How the job's shell ended, from the exception that was told before."""
        for message in self._exceptions:
            found = EXIT.search(message)
            if found and shellcmd in message:
                self._exceptions.remove(message)
                return f"killed by {found['signal']}" if found["signal"] else f"exit code {found['code']}"
        return None

    def _progress(self, record: LogRecord) -> None:
        values: dict[str, Any] = vars(record)
        self._count = {"done": values["done"], "total": values["total"]}
        self._tell_count()

    def _tell_count(self) -> None:
        if self._started and time.monotonic() - self._counted_at > QUIET_S:
            self._counted_at = time.monotonic()
            self._append("run_progress", **self._count)
            self._project()

    def _stopped(self, record: LogRecord) -> None:
        reason = record.getMessage().strip()
        if vars(record).get("exception") == "RuleException":
            self._exceptions.append(reason)
        elif reason and reason != self._last_error and FAREWELL not in reason:
            self._last_error = reason
            self._append("run_error", reason=reason)
            self._project()
