"""What Snakemake tells of its jobs, as events of the campaign's record."""

import os
import re
import time
from logging import LogRecord
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.common import LogEvent

from sophron.campaign.state import projector
from sophron.records import events, process_identity
from sophron.records.digests import step_name

ACTOR = "snakemake"
# The shell lines of our rules. A host pipeline may call a rule as it likes, but its line is a part of the plan.
LINE = re.compile(r"\bsophron (?:(?P<verb>stage|verify|accept|agent run) (?P<stage>[\w-]+)|(?P<alone>gate|report)) ")
EXIT = re.compile(r"died with <Signals\.(?P<signal>\w+)|returned non-zero exit status (?P<code>\d+)")
# Said at the end of every run with a failed job; the job has its own event.
FAREWELL = "At least one job did not complete successfully."
WILDCARD = re.compile(r" --wildcard (\w+)=(\S+)")
QUIET_S = 1.0  # least time between two counts of finished jobs in the record


def step_of(shellcmd: str) -> tuple[str, str | None, dict[str, str]] | None:
    """Return name, stage and wildcards of the step that a shell line runs; None if it is none of Sophron's."""
    line = LINE.search(shellcmd)
    if line is None:
        return None
    if line["alone"]:
        return line["alone"], None, {}
    if line["verb"] in {"verify", "accept"}:
        wildcards = {"stage": line["stage"]}
        return step_name(line["verb"], wildcards), line["stage"], wildcards
    wildcards = dict(WILDCARD.findall(shellcmd))
    return step_name(line["stage"], wildcards), line["stage"] if line["verb"] == "stage" else None, wildcards


class Recorder:
    """Appends events to the record of the campaign at `root`. OSError if the disk refuses."""

    def __init__(self, root: Path, version: str) -> None:
        self._root, self._version = root, version
        self._jobs: dict[int, dict[str, Any]] = {}
        self._host: dict[int, dict[str, Any]] = {}  # jobs of rules that are not ours
        self._started = False
        self._counted_at = 0.0
        self.count = {"done": 0, "total": 0}
        self._last_error = ""
        self._exceptions: list[str] = []  # of jobs, told just before the job's own error
        self._handlers = {
            LogEvent.RUN_INFO: self._planned,
            LogEvent.JOB_INFO: self._queued,
            LogEvent.JOB_FINISHED: self._finished,
            LogEvent.JOB_ERROR: self._failed,
            LogEvent.PROGRESS: self._progress,
            LogEvent.ERROR: self._stopped,
        }

    def emit(self, record: LogRecord) -> None:
        """Translate one record of Snakemake."""
        handler = self._handlers.get(getattr(record, "event", None))  # type: ignore[arg-type]
        if handler is not None:
            handler(record)

    def close(self) -> None:
        """Record that Snakemake has ended in an orderly way."""
        if self._started:
            self._started = False
            events.append(self._root, ACTOR, "run_ended", pid=os.getpid(), host=os.uname().nodename, **self.count)
            projector.project(self._root)

    def _append(self, event: str, **fields: Any) -> None:
        if not self._started and event != "run_error":
            self._started = True
            me = process_identity.identity()
            events.append(self._root, ACTOR, "run_started", **me, snakemake_version=self._version)
        events.append(self._root, ACTOR, event, **fields)

    def _planned(self, record: LogRecord) -> None:
        self.count["total"] = vars(record)["stats"]["total"]

    def _queued(self, record: LogRecord) -> None:
        values = vars(record)
        found = step_of(values.get("shellcmd") or "")
        if found is None and (values.get("output") or values.get("shellcmd")):
            wildcards = {key: str(value) for key, value in (values.get("wildcards") or {}).items()}
            job = {"step": step_name(values["rule_name"], wildcards), "rule": values["rule_name"]}
            self._host[values["jobid"]] = job | {"log": next(map(os.path.abspath, values.get("log") or ()), None)}
            self._append("host_job_started", **job)
        if found is not None:
            step, stage, wildcards = found
            job = {"step": step, "stage": stage, "wildcards": wildcards}
            job |= {"rule": values["rule_name"], "jobid": values["jobid"]}
            self._jobs[values["jobid"]] = job
            log = {"log": os.path.relpath(str(values["log"][0]), self._root)} if values.get("log") else {}
            self._append("step_queued", **job, **log)

    def _finished(self, record: LogRecord) -> None:
        self.count["done"] += 1  # the count that Snakemake tells comes after this
        job = self._jobs.pop(vars(record)["job_id"], None)
        if job is not None:
            self._append("job_finished", **job, **self.count)
        if host := self._host.pop(vars(record)["job_id"], None):
            self._append("host_job_finished", step=host["step"], rule=host["rule"], **self.count)
            self._show_host()

    def _failed(self, record: LogRecord) -> None:
        # Snakemake tells of one failure several times; the next try of the job is announced by another job_info.
        values = vars(record)
        job, host = self._jobs.pop(values["jobid"], None), self._host.pop(values["jobid"], None)
        if host is not None:
            self._append("host_job_failed", **host, exit=self._exit(values.get("shellcmd") or ""))
            projector.project(self._root)
        if job is not None:
            self._append("job_error", **job, exit=self._exit(values.get("shellcmd") or ""))
            projector.project(self._root)

    def _show_host(self) -> None:
        """Project the state now and then: a host's jobs do not do it themselves, as our steps do."""
        if time.monotonic() - self._counted_at > QUIET_S:
            self._counted_at = time.monotonic()
            projector.project(self._root)

    def _exit(self, shellcmd: str) -> str | None:
        """How the job's shell ended, from the exception that was told before."""
        for message in self._exceptions:
            found = EXIT.search(message)
            if found and shellcmd in message:
                self._exceptions.remove(message)
                return f"killed by {found['signal']}" if found["signal"] else f"exit code {found['code']}"
        return None

    def _progress(self, record: LogRecord) -> None:
        values = vars(record)
        self.count = {"done": values["done"], "total": values["total"]}
        if self._started and time.monotonic() - self._counted_at > QUIET_S:
            self._counted_at = time.monotonic()
            self._append("run_progress", **self.count)
            projector.project(self._root)

    def _stopped(self, record: LogRecord) -> None:
        reason = record.getMessage().strip()
        if vars(record).get("exception") == "RuleException":
            self._exceptions.append(reason)
        elif reason and reason != self._last_error and FAREWELL not in reason:
            self._last_error = reason
            self._append("run_error", reason=reason)
            projector.project(self._root)
