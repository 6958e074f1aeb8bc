"""Snakemake executor plugin: steps run on Parsl workers in pilot blocks, which wait in the queue once for many steps.

Snakemake imports this package at every start, to find it: Parsl is imported when the first step is submitted.
"""

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional

from snakemake_interface_executor_plugins.settings import ExecutorSettingsBase

from sophron.warm_workers.executor import COMMON_SETTINGS, StepExecutor

if TYPE_CHECKING:
    from snakemake_executor_plugin_parsl.pool import Pool


def _setting(default: Any, about: str) -> Any:
    return field(default=default, metadata={"help": about, "env_var": False, "required": False})


@dataclass
class ExecutorSettings(ExecutorSettingsBase):  # type: ignore[misc] # the interface has no types
    """Settings of `--executor parsl`; each is `--parsl-NAME` on the command line and `parsl-NAME` in a profile."""

    provider: str = _setting("local", "What gives the blocks: local, slurm, pbspro or lsf.")
    blocks: int = _setting(1, "Most blocks of one size at a time.")
    cores: Optional[int] = _setting(None, "Cores of a block, which is one node. Local: all of this machine.")  # noqa: UP045
    memory_mb: Optional[int] = _setting(None, "Memory of a block in MB; without it, memory decides nothing.")  # noqa: UP045
    walltime_min: int = _setting(60, "Wall time of a block in minutes. A step that asks for more is refused.")
    queue: Optional[str] = _setting(None, "Partition (Slurm) or queue (PBS Pro, LSF).")  # noqa: UP045
    account: Optional[str] = _setting(None, "Account or project that pays.")  # noqa: UP045
    gpus: int = _setting(0, "GPUs of a block for steps with the resource `gpu`.")
    gpu_queue: Optional[str] = _setting(None, "Partition or queue of blocks with GPUs, where it is another.")  # noqa: UP045
    options: str = _setting("", "Further lines of the block's job script, as they stand: '#SBATCH --constraint=fast'.")
    worker_init: str = _setting("", "Shell lines run in the block before its workers: module load, export.")
    address: Optional[str] = _setting(None, "Address of this machine as the blocks see it; without it, all are tried.")  # noqa: UP045
    job_step: bool = _setting(False, "Run plain shell lines through Snakemake's own job step too.")  # noqa: FBT003


common_settings = COMMON_SETTINGS


class Executor(StepExecutor):
    """Submits steps to the pool of this run."""

    name = "parsl"
    _pool: "Pool | None" = None

    @property
    def pool(self) -> "Pool":
        """The pool, started with the first step."""
        if self._pool is None:
            from snakemake_executor_plugin_parsl.pool import Pool

            self._pool = Pool(self.executor_settings, self.logger)
        return self._pool

    def submit(self, order: str, job: Any) -> "Future[str]":
        """Give an order to a worker of the size that the job asks for."""
        return self.pool.submit(order, job)

    def is_broken(self, error: BaseException | None) -> bool:
        """Return whether the blocks fail one after the other."""
        from parsl.executors.errors import BadStateException

        return isinstance(error, BadStateException)

    def close(self) -> None:
        """Give the blocks back."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()
