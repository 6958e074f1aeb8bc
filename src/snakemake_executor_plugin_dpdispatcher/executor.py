"""The executor: Snakemake's jobs become tasks of dpdispatcher, and the tasks of a dead driver are taken up again."""

import shlex
import sys
import threading
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

if TYPE_CHECKING:
    from snakemake_executor_plugin_dpdispatcher.dispatcher import Dispatcher, Handed


class Executor(RemoteExecutor):  # type: ignore[misc]  # an untyped base
    """Runs jobs through dpdispatcher; see `docs/how-to/run-with-dpdispatcher.md`."""

    def __post_init__(self) -> None:
        """Start with nothing handed out; the machine is reached at the first job."""
        self._handed: dict[Any, Handed] = {}
        self._lock = threading.Lock()
        self._made: Dispatcher | None = None

    def run_job(self, job: Any) -> None:
        """Run one job."""
        self.run_jobs([job])

    def run_jobs(self, jobs: Sequence[Any]) -> None:
        """Take up what an earlier driver has submitted of `jobs`, and submit the others with few calls."""
        for job in jobs:
            self.run_job_pre(job)
        dispatcher = self._dispatcher()
        fresh = []
        for job in jobs:
            handed = dispatcher.take_up(job)
            if handed is None:
                fresh.append(job)
            else:
                self._report(job, handed)
        for job, handed in dispatcher.hand_out(fresh, self._command):
            self._report(job, handed)
        text = f"dpdispatcher: {len(jobs) - len(fresh)} jobs taken up, {len(fresh)} submitted."
        self.logger.info(text)

    async def check_active_jobs(self, active_jobs: list[SubmittedJobInfo]) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Report what has ended; yield what has not."""
        if not active_jobs:
            return
        async with self.status_rate_limiter:
            ends = self._dispatcher().look([info.aux["handed"] for info in active_jobs])
        for info in active_jobs:
            handed = info.aux["handed"]
            end = ends.get(handed.task.ident)
            if end is None:
                yield info
            elif end.ok:
                self.report_job_success(info)
            else:
                log = [str(handed.log)] if handed.log else []
                self.report_job_error(info, msg=f"{end.reason}. ", aux_logs=log)

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:  # noqa: ARG002
        """End what is queued or running: the user stopped the workflow.

        All that was handed out: the base class knows of no active job while one of its checks is under way.
        """
        with self._lock:
            handed = list(self._handed.values())
        if self._made is not None:
            self._made.cancel(handed)

    def handle_job_success(self, job: Any) -> None:
        """Snakemake has seen the outputs: no later driver has to know of this task."""
        super().handle_job_success(job)
        self._settle(job, "done")

    def handle_job_error(self, job: Any) -> None:
        """Snakemake knows of the failure."""
        super().handle_job_error(job)
        self._settle(job, "failed")

    def _settle(self, job: Any, how: str) -> None:
        with self._lock:
            handed = self._handed.pop(job, None)
        if handed is not None and self._made is not None:
            self._made.settle(handed, how)

    def _report(self, job: Any, handed: "Handed") -> None:
        with self._lock:
            self._handed[job] = handed
        info = SubmittedJobInfo(job=job, external_jobid=handed.external_id, aux={"handed": handed})
        self.report_job_submission(info)

    def shutdown(self) -> None:
        """Stop watching; what has ended well leaves nothing but its record."""
        super().shutdown()
        if self._made is not None:
            self._made.finish()

    def _command(self, job: Any) -> str:
        """The shell line that runs `job`'s steps from anywhere.

        dpdispatcher's scripts are login shells, whose profile may set PATH anew: the programs that were installed
        beside this Python are named again. -P: nothing in the campaign's folder is imported in place of a library.
        """
        programs = shlex.quote(str(Path(sys.executable).parent))
        words = self.format_job_exec(job).replace(" -m snakemake ", " -P -m snakemake ", 1)
        return f'cd {shlex.quote(str(Path.cwd()))} && export PATH={programs}:"$PATH" && {words}'

    def _dispatcher(self) -> "Dispatcher":
        with self._lock:
            if self._made is None:
                from snakemake_executor_plugin_dpdispatcher.dispatcher import Dispatcher

                self._made = Dispatcher.begin(self.executor_settings, self.workflow, self.logger, self.envvars())
        return self._made
