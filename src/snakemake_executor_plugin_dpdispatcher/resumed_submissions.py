"""Take over the submissions of an earlier driver: keep the tasks that this workflow still wants, end the others."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from snakemake_executor_plugin_dpdispatcher import job_status, submission_record
from snakemake_executor_plugin_dpdispatcher.job_identity import members, newest_input, steps, target
from snakemake_executor_plugin_dpdispatcher.job_status import cancel
from snakemake_executor_plugin_dpdispatcher.site import Site
from snakemake_executor_plugin_dpdispatcher.submission_record import Batch, Task


class ResumedSubmissions:
    """The open submissions of earlier drivers. Hold the site's lock around every call."""

    def __init__(self, site: Site, logger: Any) -> None:
        self.site = site
        self.logger = logger
        self.batches: list[Batch] = []
        self._by_target: dict[str, list[tuple[Batch, Task]]] = defaultdict(list)
        self._codes: dict[str, int] = {}  # ident -> exit code, of what ended while no driver watched
        self._dag: Any = None

    def open(self, folder: Path) -> list[Batch]:
        """Read the open records below `folder`; the submissions. WorkflowError for another machine's."""
        self.batches = submission_record.open_batches(folder, self.site)
        for batch in self.batches:
            for task in batch.tasks:
                for step in task.steps:
                    self._by_target[step.target].append((batch, task))
        return self.batches

    def look_over(self, dag: Any) -> None:
        """Note what has ended meanwhile; end what works on inputs that this workflow is about to make anew."""
        self._dag = dag
        self._settle_complete_ones(self.batches)
        count = sum(not task.settled for batch in self.batches for task in batch.tasks)
        if count:
            text = f"dpdispatcher: {count} jobs of an earlier run are taken up where they are still wanted."
            self.logger.info(text)
            self._end_early_ones(dag)

    def find(self, job: Any) -> tuple[Batch, Task] | None:
        """Return the task that does what `job` wants; None if there is none. One that does something else is ended."""
        wanted = steps(job)
        for batch, task in {
            one[1].ident: one for step in wanted for one in self._by_target.get(step.target, [])
        }.values():
            if task.settled:
                continue
            if not set(wanted) <= set(task.steps):
                self._end(batch, task, "its rule, params or inputs were changed since")
            elif newest_input(job) > batch.created:
                self._end(batch, task, "its input is newer than its submission")
            elif not batch.job_of(task).job_id or (self._codes.get(task.ident) == 0 and not _outputs_stand(job)):
                batch.settle(task, "lost")
            else:
                return batch, task
        return None

    def look_again(self) -> list[Batch]:
        """At the end of a run: the submissions of which all is known since.

        A job may have made its outputs before the run began, and left its marker after that: no job asked for it.
        """
        late = [batch for batch in self.batches if not batch.is_settled]
        self._settle_complete_ones(late)
        return [batch for batch in late if batch.is_settled]

    def _settle_complete_ones(self, open_ones: Sequence[Batch]) -> None:
        """What ended well, and was noted so far by Snakemake that it is not to run again, is nobody's concern."""
        if not open_ones:
            return
        unmade = set(self._dag.needrun_jobs())
        complete = {target(job) for job in self._dag.jobs if job not in unmade}
        for batch in open_ones:
            self.site.bind(batch.submission, batch.root)
            self._codes |= job_status.ended(self.site)
            for task in batch.tasks:
                if self._codes.get(task.ident) == 0 and {step.target for step in task.steps} <= complete:
                    batch.settle(task, "done")

    def _end_early_ones(self, dag: Any) -> None:
        """A job may not go on that waits, in this workflow, for another to make its input first."""
        unmade = {job for job in dag.needrun_jobs() if not dag.finished(job)}
        for job in unmade:
            needed = {target(maker) for maker in dag.dependencies[job] if maker in unmade}
            for batch, task in self._by_target.get(target(job), []) if needed else []:
                if not task.settled and not needed <= {step.target for step in task.steps}:
                    self._end(batch, task, "its input is made anew")

    def _end(self, batch: Batch, task: Task, why: str) -> None:
        """End the whole scheduler job of a task: its other tasks are submitted again where they are wanted."""
        job = batch.job_of(task)
        self.site.bind(batch.submission, batch.root)
        text = f"dpdispatcher: job {job.job_id} of an earlier run is ended: {why}."
        self.logger.info(text)
        cancel(self.site, batch, job)
        self._codes |= job_status.ended(self.site)
        for one in batch.tasks_of(job):
            if one is task or self._codes.get(one.ident) is None:
                batch.settle(one, "ended")


def _outputs_stand(job: Any) -> bool:
    paths = [path for member in members(job) for path in member.output]
    return all(getattr(path, "is_storage", False) or Path(path).exists() for path in paths)
