"""The submission record: what was handed to dpdispatcher, in one append-only file for each submission.

Its first line is on the disk before anything is submitted: a kill at any moment leaves either no record and no job, or
a record by which the next driver finishes the submission (see `Site.submit`) and finds its jobs. Further lines tell
scheduler ids and which tasks Snakemake has taken note of. A file whose tasks are all settled moves to `settled/`,
when its scripts have ended.
"""

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snakemake_executor_plugin_dpdispatcher.job_identity import Step
from snakemake_executor_plugin_dpdispatcher.site import Site, load
from sophron.records import clock, files

FORM = 1
MARKER = "DPDISP_DONE"  # Superscientist, appendix B.4: written when a job has ended; here it holds the exit code


@dataclass
class Task:
    """One try of a step, or of the steps of a group. ident: names its marker and log, unique for ever."""

    ident: str
    steps: tuple[Step, ...]
    attempt: int
    settled: str = ""  # how Snakemake took note of its end
    gone_since: float | None = None  # when its scheduler job was first found to be gone without a marker

    @property
    def marker(self) -> str:
        """File whose appearance tells the end of the task, in the submission's folder."""
        return f"{self.ident}.{MARKER}"


@dataclass
class Batch:
    """One submission of dpdispatcher with its record. created: seconds since the epoch."""

    path: Path
    submission: Any
    tasks: list[Task]
    created: float
    root: str
    jobs: list[Any] = field(default_factory=list)

    @property
    def is_settled(self) -> bool:
        """Whether Snakemake knows how all its tasks ended."""
        return all(task.settled for task in self.tasks)

    def job_of(self, task: Task) -> Any:
        """Return the scheduler job that runs `task`."""
        return next(job for job in self.jobs if any(one.errlog == f"{task.ident}.log" for one in job.job_task_list))

    def tasks_of(self, job: Any) -> list[Task]:
        """Return the tasks of a scheduler job, in its order."""
        by_log = {f"{task.ident}.log": task for task in self.tasks}
        return [by_log[one.errlog] for one in job.job_task_list]

    def submitted(self, job: Any) -> None:
        """Note the scheduler's id of a job."""
        files.append_json_line(self.path, {"job": job.job_hash, "id": str(job.job_id)}, sync=True)

    def settle(self, task: Task, how: str) -> None:
        """Note that Snakemake knows how `task` ended: no driver has to look for it again."""
        if not task.settled:
            task.settled = how
            files.append_json_line(self.path, {"task": task.ident, "settled": how, "time": clock.isoformat()})

    def close(self) -> None:
        """Put the record away: all its tasks are settled."""
        archive = self.path.parent / "settled"
        archive.mkdir(exist_ok=True)
        self.path = self.path.rename(archive / self.path.name)


def new_task(steps: Iterable[Step], attempt: int) -> Task:
    """Return a task under a name that no other has."""
    return Task(uuid.uuid4().hex[:16], tuple(steps), attempt)


def create(folder: Path, site: Site, tasks: Sequence[Task], made: Sequence[Any], resources: Mapping[str, Any]) -> Batch:
    """Make the submission of like tasks and record it; nothing is submitted yet.

    made: the tasks as dpdispatcher's, in the same order.
    """
    module = load("submission")
    submission = module.Submission(
        work_base=".", resources=module.Resources.load_from_dict(dict(resources)), task_list=list(made)
    )
    submission.generate_jobs()
    root = site.bind(submission, None)
    created = time.time()
    path = folder / f"{clock.now():%Y%m%dT%H%M%S}-{tasks[0].ident}.jsonl"
    record = {
        "form": FORM,
        "time": clock.isoformat(),
        "created": created,
        "machine": site.about(),
        "root": root,
        "submission": {key: value for key, value in submission.serialize().items() if key != "machine"},
        "tasks": [{"ident": task.ident, "steps": task.steps, "attempt": task.attempt} for task in tasks],
    }
    files.append_json_line(path, record, sync=True)
    return Batch(path, submission, list(tasks), created, root, jobs=submission.belonging_jobs)


def open_batches(folder: Path, site: Site) -> list[Batch]:
    """Return the submissions of earlier drivers that hold tasks of which Snakemake does not know the end yet.

    Raise WorkflowError if such a submission lies with another machine.
    """
    return [batch for path in sorted(folder.glob("*.jsonl")) if (batch := _read(path, site)) is not None]


def _read(path: Path, site: Site) -> Batch | None:
    records, _ = files.read_json_lines(path)
    if not records or records[0].get("form") != FORM:
        return None  # torn before anything was submitted
    first, *later = records
    if first["machine"] != site.about():
        from snakemake_interface_common.exceptions import WorkflowError

        raise WorkflowError(
            f"{path}: jobs of an earlier run are with {first['machine']['batch_type']}"
            f" ({first['machine'].get('hostname', 'this machine')}); run with that machine once more to take them up,"
            " or cancel them and delete this file"
        )
    submission = load("submission").Submission.deserialize(
        first["submission"] | {"machine": {}}, machine=site.machine, bind_context=False
    )
    tasks = [Task(one["ident"], tuple(Step(*step) for step in one["steps"]), one["attempt"]) for one in first["tasks"]]
    batch = Batch(
        path,
        submission,
        tasks,
        first["created"],
        first["root"],
        jobs=submission.belonging_jobs,
    )
    _replay(batch, later)
    return batch


def _replay(batch: Batch, later: Iterable[Mapping[str, Any]]) -> None:
    ids = {str(record["job"]): record["id"] for record in later if "job" in record}
    settled = {record["task"]: record["settled"] for record in later if "settled" in record}
    for job in batch.jobs:
        job.job_id = ids.get(job.job_hash, "")
    for task in batch.tasks:
        task.settled = settled.get(task.ident, "")
