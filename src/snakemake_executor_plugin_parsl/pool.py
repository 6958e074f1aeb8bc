"""The pool of one run: a Parsl executor for each size of slot that its jobs need, made when the first one comes."""

import os
import shlex
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from parsl.config import Config
from parsl.dataflow.dflow import DataFlowKernel
from parsl.executors import HighThroughputExecutor
from parsl.executors.high_throughput.executor import DEFAULT_LAUNCH_CMD
from parsl.jobs.error_handlers import windowed_error_handler

from snakemake_executor_plugin_parsl import lean_start
from snakemake_executor_plugin_parsl.orphan_blocks import Blocks, give_back
from snakemake_executor_plugin_parsl.providers import provider
from snakemake_executor_plugin_parsl.slots import Block, Slot, slot_of
from sophron.warm_workers import worker

FOLDER = Path(".snakemake") / "parsl"
# By the interpreter of this run: nothing needs to be on the PATH.
START = [sys.executable, "-P", "-m", lean_start.__name__]
# A lost block is noticed after this time without a sign of it; its workers give up after as long without the driver.
BEAT_S, LOST_S = 5, 30
SCALE_S = 1  # between two looks whether more blocks are needed
IDLE_S = 120  # after which blocks without a step are given back


class _Executor(HighThroughputExecutor):  # type: ignore[misc]
    """Records each block before anything can run in it."""

    blocks: Blocks
    kind: str

    def _launch_block(self, block_id: str) -> Any:
        job = super()._launch_block(block_id)
        self.blocks.add(self.kind, str(job))
        return job


class Pool:
    """Blocks and their workers, for one driver."""

    def __init__(self, settings: Any, logger: Any) -> None:
        self._settings, self._logger = settings, logger
        cores = settings.cores or len(os.sched_getaffinity(0))
        self._block = Block(cores, settings.memory_mb, settings.gpus, settings.walltime_min)
        self._executors: dict[str, _Executor] = {}
        self._lock = threading.Lock()  # Parsl's submission is for one thread at a time
        folder = FOLDER.absolute()
        left = give_back(folder, {settings.provider: provider(settings, self._block, gpu=False)})
        if left:
            told = f"Gave back the blocks of a driver that died: {', '.join(left)}"
            logger.info(told)
        self._blocks = Blocks(folder)
        self._kernel = DataFlowKernel(self._config(folder))

    def _config(self, folder: Path) -> Config:
        return Config(
            run_dir=str(folder / "runs"),
            strategy="simple",
            strategy_period=SCALE_S,
            max_idletime=IDLE_S,
            initialize_logging=False,
        )

    def submit(self, order: str, job: Any) -> "Future[str]":
        """Give an order to a worker of the size that the job needs; WorkflowError if no block is large enough."""
        slot = slot_of(job, self._block)
        with self._lock:
            if slot.label not in self._executors:
                self._add(slot)
            future: Future[str] = self._executors[slot.label].submit(worker.run, {}, order)
        return future

    def _add(self, slot: Slot) -> None:
        executor = _Executor(
            label=slot.label,
            provider=provider(self._settings, self._block, gpu=bool(slot.gpus)),
            address=self._settings.address or ("127.0.0.1" if self._settings.provider == "local" else None),
            launch_cmd=DEFAULT_LAUNCH_CMD.replace(
                "process_worker_pool.py", f"{shlex.join(START)} {lean_start.WORKERS}"
            ),
            interchange_launch_cmd=[*START, lean_start.INTERCHANGE, str(os.getpid())],
            max_workers_per_node=slot.workers,
            cores_per_worker=slot.cores,
            available_accelerators=_accelerators(slot),
            heartbeat_period=BEAT_S,
            heartbeat_threshold=LOST_S,
            block_error_handler=windowed_error_handler,
        )
        executor.blocks, executor.kind = self._blocks, self._settings.provider
        self._kernel.add_executors([executor])
        executor.scale_out_facade(1)
        self._executors[slot.label] = executor

    def close(self) -> None:
        """Give all blocks back. Steps that still run end with them."""
        self._kernel.cleanup()
        for executor in self._executors.values():
            if executor.bad_state_is_set:  # Parsl leaves such blocks where they are
                executor.provider.cancel(list(executor.blocks_to_job_id.values()))
        self._blocks.close()


def _accelerators(slot: Slot) -> list[str]:
    """The GPUs of each worker: '0,1' for the first of those that have two."""
    numbers = range(slot.workers * slot.gpus)
    return [",".join(map(str, numbers[one : one + slot.gpus])) for one in numbers[:: slot.gpus]] if slot.gpus else []
