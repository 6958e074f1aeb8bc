"""The executor that both plugins share: a job becomes an order, a pool's future calls back, nothing is polled."""

import asyncio
import functools
import os
import shlex
import string
import threading
import time
from abc import abstractmethod
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.settings import CommonSettings

from sophron.warm_workers.job_message import Ended, Order
from sophron.warm_workers.lease import Lease

COMMON_SETTINGS = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    pass_envvar_declarations_to_cmd=False,  # a value on a command line is seen by everyone on the node
    auto_deploy_default_storage_provider=False,
    init_seconds_before_status_checks=0,
)
"""What Snakemake asks of every executor whose workers see the files of the driver."""

# A worker may be lost with its block, or because of the step itself: the latter must come to an end.
MOST_LOST = 3


class StepExecutor(RemoteExecutor):  # type: ignore[misc] # the interface has no types
    """Hands steps to a pool of workers. A plugin says how one is submitted and how the pool is closed."""

    name = "pool"  # of its folder below .snakemake

    @abstractmethod
    def submit(self, order: str, job: Any) -> "Future[str]":
        """Give an order to a worker that is large enough; the future of the text of `Ended`."""

    @abstractmethod
    def close(self) -> None:
        """End the pool with all that still runs in it. Called more than once."""

    def __init__(self, workflow: Any, logger: Any) -> None:
        self._closing = threading.Event()  # the interface's thread looks at it before __post_init__
        super().__init__(workflow, logger)

    def __post_init__(self) -> None:
        """Start with nothing submitted."""
        self._lease = Lease(Path.cwd() / ".snakemake" / self.name)
        self._logs = Path.cwd() / ".snakemake" / self.name / "logs" / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"

    def run_job(self, job: Any) -> None:
        """Submit one job or group."""
        order = self.order(job)
        info = SubmittedJobInfo(job=job, external_jobid=f"{self.name}-{job.jobid}", aux={"log": order.log, "lost": 0})
        self.report_job_submission(info)
        self._send(info, order)

    def order(self, job: Any) -> Order:
        """Return the message that the worker gets for this job."""
        order = Order(
            folder=str(Path.cwd()),
            lease=str(self._lease.path),
            log=str(self._logs / f"{job.name}.{job.jobid}.{job.attempt}.log"),
            limit_s=60 * _number(job.resources.get("runtime")),
            environment=dict(self.envvars()),
        )
        line = None if self.executor_settings.job_step or why_not(job) else shell_line(job)
        if line is None:
            return replace(order, argv=self._job_step(job))
        return replace(
            order,
            command=line[0],
            executable=line[1],
            threads=job.threads,
            inputs=[str(one) for one in job.input],
            outputs={str(one): bool(one.is_directory) for one in job.output},
            logs=[str(one) for one in job.log],
            latency_s=self.workflow.execution_settings.latency_wait,
        )

    def _job_step(self, job: Any) -> list[str]:
        """Arguments of Snakemake's own job step, taken from the command line that it makes of a job."""
        words = shlex.split(self.format_job_exec(job))
        if words[1:3] != ["-m", "snakemake"]:
            raise WorkflowError(
                f"--executor {self.name} cannot run a command before each job; leave out --precommand and storage "
                "plugins that are installed on the way, and install them beside Snakemake"
            )
        return words[3:]

    def _send(self, info: SubmittedJobInfo, order: Order) -> None:
        try:
            future = self.submit(order.text(), info.job)
        except WorkflowError:
            raise
        except Exception as error:  # noqa: BLE001 - pools raise what they like
            self.report_job_error(info, msg=f"The pool takes no more steps: {error} ")
            return
        future.add_done_callback(lambda done: self._called_back(info, order, done))

    def _called_back(self, info: SubmittedJobInfo, order: Order, done: "Future[str]") -> None:
        """A future is done, in a thread of the pool: whatever is raised here would be lost."""
        if self._closing.is_set():
            return
        try:
            self._conclude(info, order, done)
        except Exception as error:  # noqa: BLE001 - handed to Snakemake, which stops with it
            self.workflow.scheduler.executor_error_callback(error)

    def _conclude(self, info: SubmittedJobInfo, order: Order, done: "Future[str]") -> None:
        error = None if done.cancelled() else done.exception()
        if error is not None or done.cancelled():
            self._lost(info, order, error)
            return
        ended = Ended.read(done.result())
        info.aux["done"] = True
        if ended.failed:
            self._failed(info, order, ended)
        else:
            self.report_job_success(info)

    def _lost(self, info: SubmittedJobInfo, order: Order, error: BaseException | None) -> None:
        """The pool, not the step, failed: the step is run again, which costs none of Snakemake's own retries."""
        info.aux["lost"] += 1
        if info.aux["lost"] < MOST_LOST and not self.is_broken(error):
            told = f"Job {info.job.jobid} ({info.job.name}) lost its worker and is run again: {error}"
            self.logger.info(told)
            self._send(info, order)
            return
        info.aux["done"] = True
        self.report_job_error(info, msg=f"The step lost its worker {info.aux['lost']} times, last: {error}. ")

    def is_broken(self, error: BaseException | None) -> bool:  # noqa: ARG002 - for pools that can break
        """Return whether the pool as a whole is beyond use."""
        return False

    def _failed(self, info: SubmittedJobInfo, order: Order, ended: Ended) -> None:
        if order.command:
            self._tell_exit(info.job, ended)
        logs = [order.log] if Path(order.log).is_file() else []
        self.report_job_error(info, msg=f"On the worker, {ended.reason()}. ", aux_logs=logs)

    def _tell_exit(self, job: Any, ended: Ended) -> None:
        """Say how a shell line ended in the words of Snakemake's local executor, which loggers read."""
        from subprocess import CalledProcessError

        from snakemake.exceptions import RuleException, print_exception

        if ended.code and not ended.problem:
            told = RuleException(str(CalledProcessError(ended.code, job.shellcmd)), rule=job.rule)
            print_exception(told, self.workflow.linemaps)

    async def check_active_jobs(self, active_jobs: list[SubmittedJobInfo]) -> Any:
        """Forget the jobs that called back; the others are still running."""
        for info in active_jobs:
            if not info.aux.get("done"):
                yield info

    async def sleep(self) -> None:
        """Until the next look at `active_jobs`, or the end."""
        await asyncio.to_thread(self._closing.wait, self.next_seconds_between_status_checks)

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:  # noqa: ARG002 - all of them
        """End the pool: its steps end with it, and their outputs count as incomplete."""
        self._closing.set()
        self._lease.end()
        self.close()

    def shutdown(self) -> None:
        """End the pool and the thread that looks."""
        self._closing.set()
        super().shutdown()
        self._lease.end()
        self.close()


def _number(value: Any) -> int:
    """A resource as a number; 0 if it is not given or not known yet."""
    return int(value) if isinstance(value, int | float) else 0


# What may stand in braces in a plain line. A global variable of the Snakefile could differ inside a module, and the
# number of a job differs in its job step.
NAMES = frozenset({"input", "output", "params", "wildcards", "threads", "resources", "log", "rule"})
# Files that need more than a path: Snakemake fetches, connects, backs up or leaves them on a node.
FLAGS = frozenset({"storage_object", "pipe", "service", "update", "before_update", "local", "nodelocal"})
UNKNOWN = "<TBD>"


def why_not(job: Any) -> str | None:
    """Return why `job` needs Snakemake's own job step; None if it is a plain shell line, which a worker runs directly.

    It is plain if the job step would do nothing that the driver does not do as well: the driver checks and touches
    outputs, removes those of a failed job, keeps metadata, handles temporary, protected and ensured files.
    """
    if job.is_group():
        return "is a group"
    if not job.is_shell:
        return "is no shell line"
    reasons = {
        "has a benchmark": job.benchmark is not None,
        "works in a shadow folder": job.is_shadow,
        "has an environment": _has_environment(job),
        "may be cached": bool(job.dag.workflow.workflow_settings.cache and job.rule.cache),
        "chooses its shell": job.resources.get("shell_exec") is not None,
        "chooses its scratch folder": _chooses_scratch(job),
        "uses more than its own values": not _uses_its_own(job.rule.shellcmd),
        "has files that need Snakemake": any(_is_special(one) for one in (*job.input, *job.output, *job.log)),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _has_environment(job: Any) -> bool:
    from snakemake.settings.types import DeploymentMethod

    methods = job.dag.workflow.deployment_settings.deployment_method
    if not methods:
        return False
    return bool(
        (DeploymentMethod.CONDA in methods and job.conda_env_spec)
        or (DeploymentMethod.APPTAINER in methods and job.container_img_url)
        or (DeploymentMethod.ENV_MODULES in methods and job.env_modules)
    )


def _chooses_scratch(job: Any) -> bool:
    """Whether TMPDIR is anything but the machine's own."""
    given = job.rule.resources.get("tmpdir")
    return given is not None and str(getattr(given, "raw", given)) != "system_tmpdir"


@functools.cache
def _uses_its_own(line: str) -> bool:
    """Whether a shell line names the job's own values alone, and no scratch folder that only the worker knows."""
    fields = (name for _, name, _, _ in string.Formatter().parse(line) if name is not None)
    return "tmpdir" not in line and NAMES.issuperset(name.partition(".")[0].partition("[")[0] for name in fields)


def _is_special(file: Any) -> bool:
    return not FLAGS.isdisjoint(file.flags)


def shell_line(job: Any) -> tuple[str, str] | None:
    """Command and shell of a plain job as Snakemake's `shell` would run them; None if it would need a script file.

    The prefix (`set -euo pipefail`, or what the Snakefile sets) and the suffix are Snakemake's.
    """
    from snakemake.shell import MAX_ARG_LEN, shell

    prefix, suffix = shell._get_process_prefix(), shell._process_suffix  # noqa: SLF001 - there is no public way to them
    command = " ".join((prefix, job.shellcmd, suffix)).strip()
    if len(command.replace("'", r"'\''")) + 2 > MAX_ARG_LEN or UNKNOWN in command:
        return None
    return command, shell.get_executable() or "/bin/sh"
