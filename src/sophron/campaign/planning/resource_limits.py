"""What steps ask of a queue, compared before anything is submitted: with the signed ceilings, and with a profile."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.campaign.planning import profiles
from sophron.records.approvals import ApprovalRecord
from sophron.records.documents import Document, load_yaml, validate
from sophron.records.errors import Refused, UserError
from sophron.records.files import resource

if TYPE_CHECKING:
    from sophron.campaign.spec.spec import Spec

LIMITS_NAME = "limits.yaml"
STAGE_VERB = "sophron stage "
HOST_RULE = "rule "
"""Begins the key of a host's rule among the signed ceilings."""


RESOURCES = (
    *("mem", "mem_mb", "mem_mib", "disk", "disk_mb", "disk_mib", "runtime", "tmpdir", "llm_calls", "gpu", "nodes"),
    *("mpi", "tasks", "cpus_per_task", "threads"),
    *("slurm_account", "slurm_partition", "clusters", "qos", "constraint", "reservation"),
    *("account", "queue", "endpoint", "gpu_model", "gpu_manufacturer"),
)
"""What a job may ask for at all: amounts that have a ceiling, and the place where a queue runs it.

Not among them is what carries free text into a submission (`slurm_extra`) or into a shell (`shell_exec`).
"""
SERVICE_CEILINGS = {"cores": 1, "memory_mb": 4000, "runtime_min": 60, "gpus": 0}
"""Most that one try of verify, accept, report or an agent step may reserve."""


def check_jobs(jobs: Iterable[Any], record: ApprovalRecord) -> None:
    """Raise Refused if a job would reserve more than was signed, in any of its tries, or something that was not.

    jobs: Snakemake's; a profile, a command line or a host may have given them other resources than the rules do.
    record: of the approval.
    Later tries are worked out for one job of a stage: they grow by one expression for all, and
    to work them out costs milliseconds a job. The step itself looks at what it was given, in each try.
    """
    seen: set[str] = set()
    for job in jobs:
        shell = job.rule.shellcmd
        if f"{HOST_RULE}{job.rule.name}" in record.ceilings:
            _check_host_job(job, record.ceilings[f"{HOST_RULE}{job.rule.name}"])
            continue
        if not isinstance(shell, str) or not shell.startswith("sophron "):
            continue
        of_stage = shell.startswith(STAGE_VERB)
        stage = job.params.get("stage", shell.split()[2]) if of_stage else ""
        who = f"the stage {stage}" if of_stage else f"the rule {job.rule.name}"
        ceilings = record.ceilings.get(stage, {}) if of_stage else record.service_ceilings
        tries = [job.attempt] if who in seen else range(1, job.restart_times + 2)
        for attempt in tries:
            reserved, names = _reserved(job, attempt)
            _check(who, reserved, {"nodes": 1, **ceilings})
            _check_names(who, names, record.resources)
        seen.add(who)


def _check_host_job(job: Any, ceilings: Mapping[str, int]) -> None:
    """Hold the first try of a host's job to the plan; a later one may grow as its rule says."""
    if job.attempt == 1:
        _check(f"the rule {job.rule.name}", _reserved(job, 1)[0], ceilings)


def _reserved(job: Any, attempt: int) -> tuple[dict[str, float], list[str]]:
    """Cores, memory in MB, minutes, GPUs and nodes of a try, and the names of all that it asks for.

    The job is as before afterwards.
    """
    before = job.attempt
    if attempt != before:  # to set it, even to the same, forgets what was worked out
        job.attempt = attempt
    try:
        resources = job.resources
        ranks, threads = resources.get("tasks") or 1, resources.get("cpus_per_task") or job.threads
        amounts = {
            "cores": max(job.threads, ranks * threads),
            "memory_mb": resources.get("mem_mb"),
            "runtime_min": resources.get("runtime"),
            "gpus": resources.get("gpu"),
            "nodes": resources.get("nodes"),
        }
        return amounts, [name for name, value in resources.items() if value not in (None, "")]
    finally:
        if attempt != before:
            job.attempt = before


def _check(who: str, reserved: Mapping[str, float], ceilings: Mapping[str, int]) -> None:
    for key, value in reserved.items():
        if key in ceilings and isinstance(value, int | float) and value > ceilings[key]:
            raise Refused(
                f"{who} would reserve {key} {value}, above the signed ceiling {ceilings[key]}; "
                "lower it in your profile or on the command line, or sign more: sophron amend"
            )


def _check_names(who: str, names: Iterable[str], signed: Iterable[str]) -> None:
    unknown = sorted(name for name in names if name not in signed and not name.startswith("_"))
    if unknown:
        raise Refused(
            f"{who} would ask for {', '.join(unknown)}, which is not among the resources that are signed; "
            "leave it out of your profile or command line"
        )


def check_profile(spec: "Spec", root: Path, name: str) -> None:
    """UserError, one sentence, where a try of some stage asks for what the profile cannot give one step."""
    from sophron.campaign.spec.resource_requests import overlaid

    document = limits(name)
    for stage in [*(one.name for one in spec.stages), *spec.parts]:
        mechanical = overlaid(spec.mechanical_block(stage), stage, root)
        last = mechanical.retries + 1
        wanted = {
            "cores": mechanical.cores // mechanical.nodes,
            "memory_mb": mechanical.memory_at(last),
            "runtime_min": mechanical.runtime_at(last),
            "gpus": mechanical.gpus,
            "nodes": mechanical.nodes,
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
    """Return what the profile `name` can give one step: the installed copy's, else the shipped one's.

    Raise UserError for none.
    """
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
