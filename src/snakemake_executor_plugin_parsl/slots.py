"""Choose the worker for a job: cores and memory decide the size of a slot, the resource `gpu` its kind."""

import math
from dataclasses import dataclass
from typing import Any

from snakemake_interface_common.exceptions import WorkflowError


@dataclass(frozen=True)
class Block:
    """What one block has: cores, memory in MB (None: not counted), GPUs, wall time in minutes."""

    cores: int
    memory_mb: int | None
    gpus: int
    walltime_min: int


@dataclass(frozen=True)
class Slot:
    """A worker's share of a block: cores, GPUs, and how many such workers a block holds."""

    cores: int
    gpus: int
    workers: int

    @property
    def label(self) -> str:
        """Name of the executor with such workers: `cpu-2`, `gpu-1`."""
        return f"gpu-{self.gpus}" if self.gpus else f"cpu-{self.cores}"


def slot_of(job: Any, block: Block) -> Slot:
    """Return the smallest slot that holds a job. WorkflowError if a block is too small for it, or cannot express it."""
    resources = job.resources
    cores = max(job.threads, _number(resources, "tasks") * max(1, _number(resources, "cpus_per_task")))
    gpus, memory_mb, minutes = (_number(resources, name) for name in ("gpu", "mem_mb", "runtime"))
    if _number(resources, "nodes") > 1:
        raise _refused(job, "nodes", _number(resources, "nodes"), "a block is one node; use --executor slurm for it")
    for name, wanted, has in (
        ("threads", cores, block.cores),
        ("mem_mb", memory_mb, block.memory_mb),
        ("gpu", gpus, block.gpus),
        ("runtime", minutes, block.walltime_min),
    ):
        if has is not None and wanted > has:
            setting = {"mem_mb": "memory-mb", "threads": "cores", "gpu": "gpus", "runtime": "walltime-min"}[name]
            raise _refused(job, name, wanted, f"a block has {has}; raise --parsl-{setting} or lower it")
    if block.memory_mb:
        cores = max(cores, math.ceil(memory_mb * block.cores / block.memory_mb))
    if gpus:
        workers = min(block.gpus // gpus, block.cores // cores)
        return Slot(block.cores // workers, gpus, workers)
    # Powers of two, so that few sizes serve all jobs, and the whole block for what is larger than its half.
    size = 1 << (cores - 1).bit_length()
    workers = max(1, block.cores // size)
    return Slot(size if workers > 1 else block.cores, 0, workers)


def _number(resources: Any, name: str) -> int:
    value = resources.get(name)
    return int(value) if isinstance(value, int | float) else 0


def _refused(job: Any, name: str, wanted: int, remedy: str) -> WorkflowError:
    return WorkflowError(f"{job.name}: asks for {name}={wanted}, but {remedy}")
