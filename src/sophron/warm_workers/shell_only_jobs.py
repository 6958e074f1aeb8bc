"""Tell jobs that are plain shell lines, which a worker may run directly, from those that need Snakemake's job step.

A job is plain where Snakemake's job step would do nothing that the driver does not do as well: the driver checks and
touches outputs, removes those of a failed job, keeps metadata, handles temporary, protected and ensured files.
"""

import functools
import string
from typing import Any

# What may stand in braces in a plain line. A global variable of the Snakefile could differ inside a module, and the
# number of a job differs in its job step.
NAMES = frozenset({"input", "output", "params", "wildcards", "threads", "resources", "log", "rule"})
# Files that need more than a path: Snakemake fetches, connects, backs up or leaves them on a node.
FLAGS = frozenset({"storage_object", "pipe", "service", "update", "before_update", "local", "nodelocal"})
UNKNOWN = "<TBD>"


def why_not(job: Any) -> str | None:
    """Return why `job` needs Snakemake's own job step; None if it is a plain shell line."""
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
