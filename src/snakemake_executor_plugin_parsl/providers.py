"""Parsl's providers of blocks, one function a scheduler, with the environment and the wall time of ours."""

from typing import Any

from parsl.providers import LocalProvider, LSFProvider, PBSProProvider, SlurmProvider
from parsl.providers.base import ExecutionProvider
from parsl.providers.cluster_provider import ClusterProvider
from snakemake_interface_common.exceptions import WorkflowError

from snakemake_executor_plugin_parsl import environment
from snakemake_executor_plugin_parsl.slots import Block

# Schedulers are busy at times; a command that takes longer than this has failed.
COMMAND_S = 60


class _Clean(ClusterProvider):  # type: ignore[misc]
    """Runs the scheduler's commands without the driver's secrets: `sbatch` copies its environment into the job.

    It stands between a provider and Parsl's base class: LSFProvider calls `bsub` by the base class itself.
    """

    def execute_wait(self, cmd: str, timeout: int | None = None) -> Any:
        return super().execute_wait(environment.clean(cmd), timeout)


class Slurm(SlurmProvider, _Clean):  # type: ignore[misc]
    """Blocks are Slurm jobs."""


class PBSPro(PBSProProvider, _Clean):  # type: ignore[misc]
    """Blocks are PBS Pro jobs."""


class LSF(LSFProvider, _Clean):  # type: ignore[misc]
    """Blocks are LSF jobs."""


def provider(settings: Any, block: Block, *, gpu: bool) -> ExecutionProvider:
    """Return a provider of blocks as the settings want it.

    gpu: of blocks with GPUs. WorkflowError for an unknown one.
    """
    queue = (settings.gpu_queue or settings.queue) if gpu else settings.queue
    common = {
        "init_blocks": 0,  # the pool starts the first block at once, Parsl's scaling the others
        "max_blocks": settings.blocks,
        "worker_init": f"{environment.FORGET}{settings.worker_init}",
    }
    timed = common | {
        "walltime": f"{block.walltime_min // 60:02}:{block.walltime_min % 60:02}:00",
        "cmd_timeout": COMMAND_S,
    }
    gpus = block.gpus if gpu else 0
    makers = {"local": _local, "slurm": _slurm, "pbspro": _pbspro, "lsf": _lsf}
    if settings.provider not in makers:
        raise WorkflowError(f"--parsl-provider: {settings.provider} is none of {', '.join(makers)}; choose one of them")
    return makers[settings.provider](settings, block, queue, gpus, common if settings.provider == "local" else timed)


def _local(settings: Any, block: Block, queue: str | None, gpus: int, common: dict[str, Any]) -> ExecutionProvider:  # noqa: ARG001
    return LocalProvider(**common)


def _slurm(settings: Any, block: Block, queue: str | None, gpus: int, common: dict[str, Any]) -> ExecutionProvider:
    lines = [settings.options, *([f"#SBATCH --mem={block.memory_mb}M"] if block.memory_mb else [])]
    return Slurm(
        partition=queue,
        account=settings.account,
        cores_per_node=block.cores,
        gpus_per_node=gpus or None,
        scheduler_options="\n".join(filter(None, lines)),
        exclusive=False,
        **common,
    )


def _pbspro(settings: Any, block: Block, queue: str | None, gpus: int, common: dict[str, Any]) -> ExecutionProvider:
    select = [*([f"mem={block.memory_mb}mb"] if block.memory_mb else []), *([f"ngpus={gpus}"] if gpus else [])]
    return PBSPro(
        queue=queue,
        account=settings.account,
        cpus_per_node=block.cores,
        select_options=":".join(select),
        # qsub hands nothing on unless told so; what it sees has been cleaned.
        scheduler_options="\n".join(filter(None, [settings.options, "#PBS -V"])),
        **common,
    )


def _lsf(settings: Any, block: Block, queue: str | None, gpus: int, common: dict[str, Any]) -> ExecutionProvider:
    lines = [settings.options]
    if block.memory_mb:
        lines += [f"#BSUB -M {block.memory_mb}MB", f'#BSUB -R "rusage[mem={block.memory_mb}MB/job]"']
    lines += [f'#BSUB -gpu "num={gpus}/host"'] if gpus else []
    return LSF(
        queue=queue,
        project=settings.account,
        cores_per_block=block.cores,
        cores_per_node=block.cores,
        request_by_nodes=False,
        bsub_redirection=True,  # bsub reads the requests of a script that comes by standard input, of no other
        scheduler_options="\n".join(filter(None, lines)),
        **common,
    )
