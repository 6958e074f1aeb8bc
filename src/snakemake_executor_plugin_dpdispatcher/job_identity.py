"""Identity of a job across drivers: its target, and a digest of how it is made."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from sophron.records.digests import digest

ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class Step(NamedTuple):
    """One step. target: what it makes; content: digest of what makes it, never threads, resources or the attempt."""

    target: str
    content: str


def members(job: Any) -> list[Any]:
    """Return the single jobs of a Snakemake job, which may be a group."""
    return list(job.jobs) if job.is_group() else [job]


def steps(job: Any) -> list[Step]:
    """Return the steps of a Snakemake job, sorted."""
    return sorted(_step(member) for member in members(job))


def target(job: Any) -> str:
    """Return what a single job makes, and by which rule."""
    outputs = sorted(map(str, job.output))
    return digest([job.rule.name, outputs or _texts(job.wildcards_dict.items())])


def newest_input(job: Any) -> float:
    """Return the time of the newest input that the job does not make itself.

    0 without one. `ancient()` inputs do not count.
    """
    single = members(job)
    made = {str(path) for member in single for path in member.output}
    inputs = {str(path) for member in single for path in member.input if not _is_ancient(path)}
    return max((_mtime(path) for path in inputs - made), default=0.0)


def _step(job: Any) -> Step:
    outputs = sorted(map(str, job.output))
    rule = job.rule
    code = rule.shellcmd or rule.run_func_src or str(rule.script or rule.wrapper or rule.notebook)
    return Step(target(job), digest([code, _texts(job.non_derived_params), sorted(map(str, job.input)), outputs]))


def _texts(values: Iterable[Any]) -> list[str]:
    """Sorted texts of values; an object's address is not content."""
    return sorted(ADDRESS.sub("", repr(value)) for value in values)


def _is_ancient(path: Any) -> bool:
    return bool(getattr(path, "is_ancient", False))


def _mtime(path: str) -> float:
    try:
        return Path(path).stat().st_mtime
    except OSError:  # kept in a storage, or a pipe: nothing to compare
        return 0.0
