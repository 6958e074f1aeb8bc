"""Snakemake executor plugin: steps run on Globus Compute endpoints that share the campaign's file system.

Snakemake imports this package at every start, to find it: the SDK is imported when the first step is submitted.
"""

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.settings import ExecutorSettingsBase

from sophron.warm_workers.executor import COMMON_SETTINGS, StepExecutor

if TYPE_CHECKING:
    import globus_compute_sdk


@dataclass
class ExecutorSettings(ExecutorSettingsBase):  # type: ignore[misc] # the interface has no types
    """Settings of `--executor globus-compute`, each `--globus-compute-NAME`, or `globus-compute-NAME` in a profile."""

    endpoints: Optional[str] = field(  # noqa: UP045 - Snakemake's reader knows no unions
        default=None,
        metadata={
            "help": "Endpoints by class, as CLASS=ID,CLASS=ID. A step goes to the class that its resource `endpoint` "
            "names, otherwise to `gpu` where it asks for `gpu`, otherwise to `cpu`.",
            "env_var": False,
            "required": True,
        },
    )
    job_step: bool = field(
        default=False,
        metadata={
            "help": "Run plain shell lines through Snakemake's own job step too.",
            "env_var": False,
            "required": False,
        },
    )


common_settings = COMMON_SETTINGS


def run_order(order: str) -> str:
    """Return what an endpoint's worker is sent; it has Sophron installed."""
    from sophron.warm_workers.worker import run

    return run(order)


def endpoint_ids(text: str) -> dict[str, str]:
    """Return the endpoint of each class. WorkflowError for what is not a CLASS=ID."""
    found = dict(word.strip().partition("=")[::2] for word in text.split(","))
    for name, identifier in found.items():
        if not (name and identifier):
            raise WorkflowError(
                f"--globus-compute-endpoints: {name or identifier} is no CLASS=ID; write cpu=<endpoint id>"
            )
    return found


def class_of(job: Any) -> str:
    """Return the class of endpoint that a job asks for."""
    named = job.resources.get("endpoint")
    if isinstance(named, str):
        return named
    return "gpu" if job.resources.get("gpu") else "cpu"


class Executor(StepExecutor):
    """Submits steps to endpoints, one SDK executor each."""

    name = "globus-compute"

    def __post_init__(self) -> None:
        """Read which endpoints there are; connect to none yet."""
        super().__post_init__()
        self._ids = endpoint_ids(self.executor_settings.endpoints)
        self._executors: dict[str, globus_compute_sdk.Executor] = {}

    def submit(self, order: str, job: Any) -> "Future[str]":
        """Send an order to the endpoint of the job's class. WorkflowError if there is none."""
        name = class_of(job)
        if name not in self._ids:
            known = ", ".join(self._ids)
            raise WorkflowError(
                f"{job.name}: asks for an endpoint of class {name}, but --globus-compute-endpoints has {known}; "
                f"add {name}=<endpoint id>"
            )
        if name not in self._executors:
            import globus_compute_sdk

            self._executors[name] = globus_compute_sdk.Executor(endpoint_id=self._ids[name], label="snakemake")
        future: Future[str] = self._executors[name].submit(run_order, order)
        return future

    def close(self) -> None:
        """Forget what was not sent yet. What endpoints have, ends there by its lease: the service cancels nothing."""
        executors, self._executors = self._executors, {}
        for executor in executors.values():
            executor.shutdown(wait=False, cancel_futures=True)
