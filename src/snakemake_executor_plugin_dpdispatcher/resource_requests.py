"""Resource requests of a job, read from Snakemake's resources."""

import math
from dataclasses import dataclass, replace
from typing import Any

from snakemake_interface_common.exceptions import WorkflowError

# Schedulers whose requests are known here. Bohrium's machines see no folder of the user's, as every step must.
KNOWN = ("Shell", "Slurm", "SlurmJobArray", "PBS", "Torque", "LSF", "SGE")
ONE_NODE = ("Shell", "SGE")
GPU_MODELS = ("Slurm", "SlurmJobArray", "LSF")
NAMES = ("nodes", "tasks", "cpus_per_task", "gpu", "gpu_model", "mem_mb", "mem_mb_per_cpu", "runtime", "queue")
REMEDY = "use a machine that can, or set it for this rule with --set-resources"


@dataclass(frozen=True)
class Request:
    """What one step needs. Memory is per node; `runtime_min` is the step's wall time; None if nothing is said."""

    nodes: int = 1
    ranks: int = 1  # MPI ranks on each node
    threads: int = 1  # cores of each rank
    gpus: int = 0  # on each node
    gpu_model: str = ""
    memory_mb: int | None = None
    runtime_min: int | None = None
    queue: str = ""

    @property
    def cores(self) -> int:
        """Cores on each node."""
        return self.ranks * self.threads


def of_job(job: Any, batch_type: str) -> Request:
    """Return what `job` asks for.

    Raise WorkflowError, naming rule, resource and remedy, if the scheduler cannot express it.
    """
    resources = job.resources
    nodes = _number(job, "nodes") or 1
    tasks = _number(job, "tasks") or nodes
    if tasks % nodes:
        raise _cannot(job, "tasks", tasks, f"be spread evenly over {nodes} nodes", "make it a multiple of nodes")
    request = Request(
        nodes=nodes,
        ranks=tasks // nodes,
        threads=_number(job, "cpus_per_task") or max(1, job.threads),
        gpus=_number(job, "gpu") or 0,
        gpu_model=str(resources.get("gpu_model", "")),
        memory_mb=_number(job, "mem_mb"),
        runtime_min=_number(job, "runtime"),
        queue=str(resources.get("queue", "")),
    )
    if request.memory_mb is None and (each := _number(job, "mem_mb_per_cpu")) is not None:
        request = replace(request, memory_mb=each * request.cores)
    _check(job, request, batch_type)
    return request


def is_resolved(job: Any) -> bool:
    """Return whether the job's requests are known yet: they may depend on files that do not exist."""
    return "<TBD>" not in {str(job.resources.get(name)) for name in NAMES}


def _number(job: Any, name: str) -> int | None:
    value = job.resources.get(name)
    if value is None:
        return None
    if isinstance(value, int | float) and value >= 0:
        return math.ceil(value)
    raise WorkflowError(f"rule {job.name}: resource {name}={value!r} is no number; correct it in the rule or profile")


def _cannot(job: Any, name: str, value: object, what: str, remedy: str = REMEDY) -> WorkflowError:
    return WorkflowError(f"rule {job.name}: resource {name}={value} cannot {what}; {remedy}")


def _check(job: Any, request: Request, batch_type: str) -> None:
    if batch_type in ONE_NODE and request.nodes > 1:
        raise _cannot(job, "nodes", request.nodes, f"be requested from {batch_type}")
    if request.gpus and batch_type == "SGE":
        raise _cannot(
            job,
            "gpu",
            request.gpus,
            "be requested from SGE, where each site names it otherwise",
            "put your site's line into custom_flags of the machine file and set gpu=0 with --set-resources",
        )
    if request.gpu_model and batch_type not in GPU_MODELS:
        raise _cannot(job, "gpu_model", request.gpu_model, f"be requested from {batch_type}")
