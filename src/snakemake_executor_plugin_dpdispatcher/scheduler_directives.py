"""Translate a request into dpdispatcher's Resources, and into scheduler directives if Resources has no field."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from snakemake_executor_plugin_dpdispatcher.resource_requests import Request

# Snakemake's own process is a part of every job, and schedulers count it: it alone takes about 150 MB.
LEAST_MB = 300

Lines = Callable[[Request], list[str]]


def resources(
    request: Request, batch_type: str, base: Mapping[str, Any], *, steps: int, group_size: int, header: Path
) -> dict[str, Any]:
    """Return arguments of dpdispatcher's Resources for jobs of `steps` like steps each, run one after the other.

    base: section `resources` of the machine file; what a job asks for wins. header: where a header may be written
    for a scheduler whose own cannot be extended.
    """
    array = batch_type == "SlurmJobArray"
    if request.memory_mb is not None:
        request = replace(request, memory_mb=max(request.memory_mb, LEAST_MB))
    if request.runtime_min is not None and not array:
        request = replace(request, runtime_min=request.runtime_min * steps)
    slurm = batch_type in ("Slurm", "SlurmJobArray")
    result = dict(base) | {
        "number_node": request.nodes,
        # Slurm counts ranks and gives each its cores by a separate line; the others count cores.
        "cpu_per_node": request.ranks if slurm else request.cores,
        "gpu_per_node": request.gpus,
        "queue_name": request.queue or base.get("queue_name", ""),
        "group_size": 0 if array else group_size,
        "custom_flags": [*LINES.get(batch_type, _none)(request), *base.get("custom_flags", [])],
        "kwargs": dict(base.get("kwargs", {})) | _keywords(request, batch_type),
    }
    if batch_type == "PBS":
        text = _pbs_header(request, result["queue_name"])
        header.write_text(text.replace("{", "{{").replace("}", "}}"), encoding="utf-8")
        result["strategy"] = dict(base.get("strategy", {})) | {"customized_script_header_template_file": str(header)}
    return result


def _keywords(request: Request, batch_type: str) -> dict[str, str | bool]:
    if batch_type in ("Slurm", "SlurmJobArray") and request.gpu_model:
        return {"custom_gpu_line": f"#SBATCH --gres=gpu:{request.gpu_model}:{request.gpus or 1}"}
    if batch_type == "LSF" and request.gpu_model:
        return {"custom_gpu_line": f"#BSUB -gpu 'num={request.gpus or 1}:gmodel={request.gpu_model}'"}
    if batch_type == "LSF" and request.gpus:
        return {"gpu_usage": True, "gpu_new_syntax": True}
    return {}


def _clock(minutes: int) -> str:
    """Minutes as HH:MM:SS."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}:00"


def _none(_: Request) -> list[str]:
    return []


def _slurm(request: Request) -> list[str]:
    lines = [f"#SBATCH --cpus-per-task={request.threads}"]
    if request.memory_mb is not None:
        lines.append(f"#SBATCH --mem={request.memory_mb}M")
    if request.runtime_min is not None:
        lines.append(f"#SBATCH --time={request.runtime_min}")
    return lines


def _torque(request: Request) -> list[str]:
    lines = []
    if request.memory_mb is not None:
        lines.append(f"#PBS -l mem={request.memory_mb * request.nodes}mb")
    if request.runtime_min is not None:
        lines.append(f"#PBS -l walltime={_clock(request.runtime_min)}")
    return lines


def _lsf(request: Request) -> list[str]:
    lines = []
    if request.memory_mb is not None:
        lines += [f"#BSUB -M {request.memory_mb}MB", f'#BSUB -R "rusage[mem={request.memory_mb}MB]"']
    if request.runtime_min is not None:
        lines.append(f"#BSUB -W {request.runtime_min}")
    return lines


def _sge(request: Request) -> list[str]:
    lines = []
    if request.memory_mb is not None:  # counted for each slot of the parallel environment
        lines.append(f"#$ -l h_vmem={math.ceil(request.memory_mb / request.cores)}M")
    if request.runtime_min is not None:
        lines.append(f"#$ -l h_rt={_clock(request.runtime_min)}")
    return lines


def _pbs_header(request: Request, queue: str) -> str:
    """The header of PBS Pro: memory and ranks belong into the one `select`, which dpdispatcher's own cannot hold."""
    chunk = f"{request.nodes}:ncpus={request.cores}:mpiprocs={request.ranks}:ompthreads={request.threads}"
    if request.gpus:
        chunk += f":ngpus={request.gpus}"
    if request.memory_mb is not None:
        chunk += f":mem={request.memory_mb}mb"
    lines = ["#!/bin/bash -l", f"#PBS -l select={chunk}", "#PBS -j oe"]
    if request.runtime_min is not None:
        lines.append(f"#PBS -l walltime={_clock(request.runtime_min)}")
    if queue:
        lines.append(f"#PBS -q {queue}")
    return "\n".join(lines)


LINES: dict[str, Lines] = {"Slurm": _slurm, "SlurmJobArray": _slurm, "Torque": _torque, "LSF": _lsf, "SGE": _sge}
