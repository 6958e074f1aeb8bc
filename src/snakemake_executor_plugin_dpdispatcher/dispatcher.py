"""Hands jobs to dpdispatcher, watches and cancels them, and takes up what an earlier driver has handed out."""

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.settings import SharedFSUsage

from snakemake_executor_plugin_dpdispatcher import (
    job_status,
    resource_requests,
    scheduler_directives,
    submission_record,
)
from snakemake_executor_plugin_dpdispatcher.job_identity import steps
from snakemake_executor_plugin_dpdispatcher.job_status import cancel, is_alive
from snakemake_executor_plugin_dpdispatcher.resource_requests import Request
from snakemake_executor_plugin_dpdispatcher.resumed_submissions import ResumedSubmissions
from snakemake_executor_plugin_dpdispatcher.site import Site, configuration, load
from snakemake_executor_plugin_dpdispatcher.submission_record import MARKER, Batch, Task
from sophron.records import SPEC_NAME, retry
from sophron.records.retry import Pauses
from sophron.records.secret_keys import is_secret

SUBMIT_PAUSES = Pauses(attempts=5, first_s=1, longest_s=8)
MOST_IN_ARRAY = 1000  # Slurm's default MaxArraySize is 1001
LAST_LINES_S = 20  # that a script may need for its last lines, on a busy node
QUIET_S = 60.0  # between two warnings that the scheduler does not answer


class SubmitError(Exception):
    """A job that the scheduler did not take, however often it was asked."""


@dataclass
class Handed:
    """A job that was handed out. log: of its task, where this machine can read it; fault: why it could not be."""

    task: Task
    batch: Batch
    external_id: str | None = None
    log: Path | None = None
    fault: str | None = None


@dataclass(frozen=True)
class End:
    """How a task ended."""

    ok: bool
    reason: str = ""


class Dispatcher:
    """One machine and the submissions of one working directory."""

    def __init__(self, site: Site, folder: Path, group_size: int, logger: Any, *, patience_s: float) -> None:
        self.site = site
        self.folder = folder
        self.group_size = group_size
        self.logger = logger
        self.patience_s = patience_s
        self._exports: dict[str, str] = {}
        self._old = ResumedSubmissions(site, logger)
        self._done: list[Batch] = []
        self._warned_at = 0.0

    @classmethod
    def begin(cls, settings: Any, workflow: Any, logger: Any, declared: Mapping[str, str]) -> "Dispatcher":
        """Reach the machine, and look at what an earlier driver left. WorkflowError where something is amiss.

        declared: environment variables that the workflow wants its jobs to have.
        """
        if SharedFSUsage.INPUT_OUTPUT not in workflow.storage_settings.shared_fs_usage:
            raise WorkflowError("--executor dpdispatcher moves no files; add input-output to --shared-fs-usage")
        folder = record_folder(Path.cwd())
        folder.mkdir(parents=True, exist_ok=True)
        site = Site(configuration(settings.machine, settings.batch_type, folder))
        if settings.group_size < 1:
            raise WorkflowError("--dpdispatcher-group-size must be 1 or more")
        self = cls(site, folder, settings.group_size, logger, patience_s=workflow.execution_settings.latency_wait)
        self._exports = _harmless(declared)
        for job in workflow.dag.needrun_jobs():
            if not job.is_local and resource_requests.is_resolved(job):
                self._request(job)
        with site.lock:
            for batch in self._old.open(folder):
                site.bind(batch.submission, batch.root)
                batch.submission.upload_jobs()  # makes the folder, which a kill may have left unmade
                self._submit(batch)  # cut off by a kill: what has a receipt is not submitted again
            self._old.look_over(workflow.dag)
            self._done = [batch for batch in self._old.batches if batch.is_settled]
        return self

    def take_up(self, job: Any) -> Handed | None:
        """What an earlier driver has handed out for `job`; None where nothing stands that this job wants."""
        with self.site.lock:
            found = self._old.find(job)
            return None if found is None else self._handed(*found)

    # Handing out

    def hand_out(self, jobs: Sequence[Any], command: Callable[[Any], str]) -> Iterator[tuple[Any, Handed]]:
        """Submit `jobs`, like ones together. command: the shell line of a job."""
        alike: dict[Request, list[Any]] = {}
        for job in jobs:
            alike.setdefault(self._request(job), []).append(job)
        array = self.site.batch_type == "SlurmJobArray"
        for request, same in alike.items():
            chunk = MOST_IN_ARRAY if array else len(same)
            for start in range(0, len(same), chunk):
                yield from self._hand_out_alike(request, same[start : start + chunk], command)

    def _hand_out_alike(
        self, request: Request, jobs: Sequence[Any], command: Callable[[Any], str]
    ) -> Iterator[tuple[Any, Handed]]:
        tasks = [submission_record.new_task(steps(job), job.attempt) for job in jobs]
        header = self.folder / f"{tasks[0].ident}.header"
        size = min(self.group_size, len(jobs))
        resources = scheduler_directives.resources(
            request, self.site.batch_type, self.site.given.resources, steps=size, group_size=size, header=header
        )
        resources["envs"] = self._exports | resources.get("envs", {})
        with self.site.lock:
            made = [_as_task(task, command(job)) for task, job in zip(tasks, jobs, strict=True)]
            batch = submission_record.create(self.folder, self.site, tasks, made, resources)
            batch.submission.upload_jobs()
            faults = self._submit(batch)
            for task, job in zip(tasks, jobs, strict=True):
                yield job, self._handed(batch, task, faults)

    def _submit(self, batch: Batch) -> dict[str, str]:
        """Submit the jobs of the bound `batch` that have no id yet; job hash -> why it could not be submitted."""
        faults = {}
        for job in batch.jobs:
            if job.job_id or all(task.settled for task in batch.tasks_of(job)):
                continue
            try:  # dpdispatcher raises whatever its machines and contexts do
                retry.call(partial(self.site.submit, job), Exception, self._submit_again)
            except SubmitError as error:
                faults[job.job_hash] = str(error)
            else:
                batch.submitted(job)
        return faults

    def _submit_again(self, error: Exception, attempt: int) -> float:
        fault = "submitting failed: " + " ".join(str(error).split())
        self._tell(fault)
        wait_s = SUBMIT_PAUSES.after(attempt)
        if wait_s is None:
            raise SubmitError(fault) from None
        return wait_s

    def _handed(self, batch: Batch, task: Task, faults: Mapping[str, str] | None = None) -> Handed:
        job = batch.job_of(task)
        log = Path(batch.root) / f"{task.ident}.log" if self.site.is_local else None
        ident = str(job.job_id)
        if ident and self.site.batch_type == "SlurmJobArray":
            ident += f"_{batch.tasks_of(job).index(task)}"
        return Handed(task, batch, ident or None, log, (faults or {}).get(job.job_hash))

    def _request(self, job: Any) -> Request:
        return resource_requests.of_job(job, self.site.batch_type)

    # Watching

    def look(self, handed: Iterable[Handed]) -> dict[str, End]:
        """Ident -> end, of those tasks that have ended."""
        wanted: dict[Path, tuple[Batch, list[Task]]] = {}
        ends: dict[str, End] = {}
        self.tidy()
        for one in handed:
            if one.fault is None:
                wanted.setdefault(one.batch.path, (one.batch, []))[1].append(one.task)
            else:
                ends[one.task.ident] = End(ok=False, reason=one.fault)
        with self.site.lock:
            try:
                self._look(wanted.values(), ends)
            except Exception as error:  # noqa: BLE001  # a scheduler that is away for a while ends no campaign
                self._warn(f"{self.site.batch_type} does not answer: {' '.join(str(error).split())}")
        return ends

    def _look(self, wanted: Iterable[tuple[Batch, list[Task]]], ends: dict[str, End]) -> None:
        in_slurm = None
        for batch, tasks in wanted:
            self.site.bind(batch.submission, batch.root)
            self._markers(tasks, ends)
            missing = [task for task in tasks if task.ident not in ends]
            if not missing:
                continue
            if in_slurm is None and self.site.batch_type.startswith("Slurm"):
                in_slurm = job_status.active_in_slurm(self.site)
            jobs = {id(job): job for job in map(batch.job_of, missing)}.values()
            living = {task.ident for job in jobs for task in job_status.alive(self.site, batch, job, in_slurm)}
            for task in job_status.dead(missing, living, self.patience_s):
                ends[task.ident] = End(ok=False, reason=f"job {batch.job_of(task).job_id} ended without a word")
            if len(living) < len(missing):
                self._markers(missing, ends)

    def _markers(self, tasks: Iterable[Task], ends: dict[str, End]) -> None:
        codes = job_status.ended(self.site)
        for task in tasks:
            if task.ident in codes:
                code = codes[task.ident]
                ends[task.ident] = End(ok=code == 0, reason=f"its step ended with exit code {code}")

    def _warn(self, what: str) -> None:
        if time.monotonic() - self._warned_at > QUIET_S:
            self._warned_at = time.monotonic()
            self._tell(what)

    def _tell(self, what: str) -> None:
        text = f"dpdispatcher: {what}"  # Snakemake's handlers show a message without its arguments
        self.logger.warning(text)

    # Ending

    def cancel(self, handed: Iterable[Handed]) -> None:
        """End the scheduler jobs of these tasks."""
        with self.site.lock:
            done = set()
            for one in handed:
                job = one.batch.job_of(one.task)
                if id(job) not in done:
                    done.add(id(job))
                    self.site.bind(one.batch.submission, one.batch.root)
                    cancel(self.site, one.batch, job)
                self.settle(one, "cancelled")

    def settle(self, handed: Handed, how: str) -> None:
        """Snakemake has taken note of a task's end."""
        batch = handed.batch
        with self.site.lock:
            batch.settle(handed.task, how)
            if batch.is_settled:
                self._done.append(batch)

    def finish(self) -> None:
        """Close what can be closed; the last scripts need a moment to end."""
        with self.site.lock:
            self._done += self._old.look_again()
        for _ in range(LAST_LINES_S):
            self.tidy()
            if not self._done:
                break
            time.sleep(1)

    def tidy(self) -> None:
        """Close submissions of which all is known; those that ended well leave no scripts and logs."""
        with self.site.lock:
            for batch in list(self._done):
                self.site.bind(batch.submission, batch.root)
                try:
                    # A script that is at its last lines still writes there.
                    if any(is_alive(self.site, batch, job) for job in batch.jobs):
                        continue
                    if all(task.settled == "done" for task in batch.tasks):
                        self.site.context.clean()
                except Exception as error:  # noqa: BLE001  # a later driver tidies up
                    self._warn(f"{batch.root} was not removed: {' '.join(str(error).split())}")
                else:
                    self._done.remove(batch)
                    batch.close()


def record_folder(workdir: Path) -> Path:
    """Where submission records lie: with the campaign's other records, or with Snakemake's own."""
    if (workdir / SPEC_NAME).is_file():
        return workdir / "records" / "dispatched"
    return workdir / ".snakemake" / "dpdispatcher"


def _harmless(declared: Mapping[str, str]) -> dict[str, str]:
    """Variables that a workflow declares with `envvars:`. WorkflowError for one that holds a key."""
    for name, value in declared.items():
        if is_secret(name, value):
            raise WorkflowError(
                f"the workflow declares {name} in envvars, which would write a key into job scripts; read it from the"
                " environment in a rule under localrules, and take it out of envvars"
            )
    return dict(declared)


def _as_task(task: Task, command: str) -> Any:
    marker = shlex.quote(task.marker)
    line = (
        f'export {MARKER}="$REMOTE_ROOT"/{marker}; ( {command} ); code=$?;'
        f' echo "$code" > "${MARKER}.new" && mv "${MARKER}.new" "${MARKER}"; exit "$code"'
    )
    log = f"{task.ident}.log"
    return load("submission").Task(command=line, task_work_path=".", outlog=log, errlog=log)
