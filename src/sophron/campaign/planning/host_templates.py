"""Templates that a review proposes for rules behind a checkpoint, from what an earlier run made there."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from sophron.campaign.planning.host_plan import HostPlan, remembered
from sophron.campaign.spec.spec import JobTemplate

MOST_VALUES = 5
"""Values of a wildcard that are proposed word by word; of more a pattern."""
WILDCARD = re.compile(r"\{(\w+)(?:,[^{}]*)?\}")


def proposed(plan: HostPlan, workdir: Path, signed: Mapping[str, JobTemplate]) -> dict[str, JobTemplate]:
    """Return rule -> template for each rule that has no job in the plan, no template, and may come by a checkpoint.

    at_most: the jobs of an earlier run, as Snakemake remembers them; 0 if it never ran.
    """
    if not plan.checkpoints:
        return {}
    jobs: dict[str, set[tuple[tuple[str, str], ...]]] = {
        rule: set() for rule in plan.unplanned if rule not in signed and plan.patterns.get(rule)
    }
    for rule, output, _ in remembered(workdir) if jobs else ():
        if rule in jobs and (found := _wildcards(plan.patterns[rule], output)) is not None:
            jobs[rule].add(found)
    return {rule: JobTemplate(_patterns(plan.patterns[rule][0], found), len(found)) for rule, found in jobs.items()}


def _wildcards(patterns: tuple[str, ...], output: str) -> tuple[tuple[str, str], ...] | None:
    from snakemake.io import regex_from_filepattern

    for pattern in patterns:
        if match := re.match(regex_from_filepattern(pattern), output):
            return tuple(sorted(match.groupdict().items()))
    return None


def _patterns(pattern: str, found: set[tuple[tuple[str, str], ...]]) -> dict[str, str]:
    values = {
        name: sorted({dict(one)[name] for one in found if name in dict(one)}) for name in WILDCARD.findall(pattern)
    }
    return {name: _pattern(these) for name, these in values.items()}


def _pattern(values: list[str]) -> str:
    if values and all(value.isdigit() for value in values):
        return "[0-9]+"
    if values and len(values) <= MOST_VALUES:
        return "|".join(map(re.escape, values))
    return "[^/]+"


def as_yaml(rule: str, template: JobTemplate) -> str:
    """Return the line of campaign.yaml, under `workflow: templates:`."""
    wildcards = ", ".join(f"{name}: {json.dumps(pattern)}" for name, pattern in template.wildcards.items())
    return f"{rule}: {{wildcards: {{{wildcards}}}, at_most: {template.at_most or 'NUMBER'}}}"
