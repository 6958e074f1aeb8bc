"""What steps ask of a queue, compared before anything is submitted: with the signed ceilings, and with a profile."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sophron.campaign import profiles
from sophron.campaign.spec import Spec
from sophron.records.documents import Document, load_yaml, validate
from sophron.records.errors import Refused, UserError
from sophron.records.resources import resource

LIMITS_NAME = "limits.yaml"
STAGE_VERB = "sophron stage "


def check_jobs(jobs: Iterable[Any], ceilings: Mapping[str, Mapping[str, int]]) -> None:
    """Refused where a job of a compute step would reserve more than was signed, in any of its tries.

    jobs: Snakemake's; a profile, a command line or a host may have given them other resources than the rules do.
    Later tries are worked out for one job of a stage: they grow by one expression for all, and to work them out costs
    milliseconds a job. The step itself looks at what it was given, in each try.
    """
    seen: set[str] = set()
    for job in jobs:
        shell = job.rule.shellcmd
        if isinstance(shell, str) and shell.startswith(STAGE_VERB):
            stage = shell.split()[2]
            tries = [job.attempt] if stage in seen else range(1, job.restart_times + 2)
            for attempt in tries:
                _check(stage, _reserved(job, attempt), ceilings.get(stage, {}))
            seen.add(stage)


def _reserved(job: Any, attempt: int) -> dict[str, Any]:
    """Cores, memory in MB and minutes of a try; the job is as before afterwards."""
    before = job.attempt
    if attempt != before:  # to set it, even to the same, forgets what was worked out
        job.attempt = attempt
    try:
        resources = job.resources
        ranks, threads = resources.get("tasks") or 1, resources.get("cpus_per_task") or job.threads
        cores = max(job.threads, ranks * threads)
        return {"cores": cores, "memory_mb": resources.get("mem_mb"), "runtime_min": resources.get("runtime")}
    finally:
        if attempt != before:
            job.attempt = before


def _check(stage: str, reserved: Mapping[str, Any], ceilings: Mapping[str, int]) -> None:
    for key, value in reserved.items():
        if key in ceilings and isinstance(value, int | float) and value > ceilings[key]:
            raise Refused(
                f"the stage {stage} would reserve {key} {value}, above the signed ceiling {ceilings[key]}; "
                "lower it in your profile or on the command line"
            )


def check_profile(spec: Spec, root: Path, name: str) -> None:
    """UserError, one sentence, where a try of some stage asks for what the profile cannot give one step."""
    from sophron.campaign.mechanical import overlaid

    document = limits(name)
    for stage in [*(one.name for one in spec.stages), *spec.parts]:
        mechanical = overlaid(spec.mechanical_block(stage), stage, root)
        last = mechanical.retries + 1
        wanted = {
            "cores": mechanical.cores,
            "memory_mb": mechanical.memory_at(last),
            "runtime_min": mechanical.runtime_at(last),
            "gpus": mechanical.gpus,
        }
        for key, value in wanted.items():
            _within(document, stage, key, value)
        least = document.data.get("memory_mb_least", 0)
        if mechanical.memory_mb < least:
            where = spec.document.where([*spec.mechanical_keys(stage), "memory_mb"])
            raise UserError(
                f"{where}: is {mechanical.memory_mb}, and a job of the profile {name} needs {least} MB at least "
                f"({document.path}); raise it"
            )


def _within(document: Document, stage: str, key: str, value: int) -> None:
    limit = document.data.get(key)
    if limit is not None and value > limit:
        raise UserError(
            f"{document.where([key])}: the profile gives a step {limit} at most, and the stage {stage} may ask for "
            f"{value}; lower its mechanical part in campaign.yaml, or raise this if your queue has more"
        )


def limits(name: str) -> Document:
    """What the profile `name` can give one step: the installed copy's, else the shipped one's; UserError for none."""
    folders = (Path(name), profiles.user_folder() / name, resource("profiles", name))
    folder = next((one for one in folders if any(one.glob("*.yaml"))), None)
    if folder is None:
        raise UserError(f'there is no profile "{name}"; see: sophron profile list')
    path = folder / LIMITS_NAME
    if not path.is_file():
        return Document({}, path)
    document = load_yaml(path)
    validate(document, "limits")
    return document
