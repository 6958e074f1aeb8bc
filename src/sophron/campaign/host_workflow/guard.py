"""The guard of a host workflow: no job of a rule that nobody signed begins, in the driver or in a job of a queue.

Two hooks on Snakemake's own object. `check` runs after the whole workflow was parsed: every rule's function is wrapped,
which holds in every process that executes a job. `_build_dag` knows all jobs before the first one begins, so that the
driver refuses there: a refusal inside a job would make the driver delete that job's earlier outputs. Rules that a stage
holds get its accepted file as an input, which their own code never sees.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Protocol

from snakemake.exceptions import WorkflowError

from sophron.campaign.host_workflow.job_steps import HELD, JobSteps, source_digest, without_held
from sophron.campaign.planning.host_plan import PLAN_VARIABLE, HostStep
from sophron.campaign.snakefile.dry_run import is_ours, of_graph
from sophron.campaign.snakefile.snakefile_api import one_sentence
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json


class Gate(Protocol):
    """What the guard asks. held: rule -> accepted files that it waits for; last: files before the target."""

    held: Mapping[str, Sequence[str]]
    last: Sequence[str]

    @property
    def behind(self) -> Iterable[str]:
        """Rules whose inputs a checkpoint decides, as signed."""

    def begin(self, workflow: Any) -> None:
        """Raise what stops a driver."""

    def check(self, steps: Iterable[HostStep], made_by: JobSteps) -> None:
        """Raise what stops jobs."""


def attach(workflow: Any, gate: Gate) -> None:
    """Guard a workflow: to be called while it is parsed."""
    made: list[JobSteps] = []
    parsed, build, execute = workflow.check, workflow._build_dag, workflow.execute  # noqa: SLF001 - knows the jobs
    running: list[bool] = []

    def after_parse() -> None:
        parsed()
        made.append(JobSteps(workflow, gate.behind))
        for rule in workflow.rules:
            if is_host(rule):
                rule.run_func = _guarded(rule, gate, made[0])
                _hold(rule, gate.held.get(rule.name, ()))
        if (
            workflow.default_target
            and not is_ours(target := workflow.get_rule(workflow.default_target))
            and target.norun
        ):
            _hold(target, gate.last)

    def marked(*arguments: Any, **options: Any) -> Any:
        running.append(True)  # not to be asked by --dag, --summary, --lint and their like, which build a graph too
        return execute(*arguments, **options)

    def after_build() -> None:
        build()
        if path := os.environ.get(PLAN_VARIABLE):
            Path(path).write_text(json.dumps(planned(workflow.dag, made[0])))
        elif running and not workflow.dryrun:
            if workflow.is_main_process:
                gate.begin(workflow)
            needed = [job for job in workflow.dag.needrun_jobs() if is_host(job.rule)]
            with one_sentence():
                gate.check((made[0].of_job(job) for job in needed), made[0])

    workflow.check, workflow._build_dag, workflow.execute = after_parse, after_build, marked  # noqa: SLF001


def is_host(rule: Any) -> bool:
    """Return whether a rule is the host's, and does something."""
    return bool(rule.run_func) and not rule.norun and not is_ours(rule)


def _hold(rule: Any, accepted: Sequence[str]) -> None:
    from snakemake.io import ancient

    if accepted:
        rule.set_input(**{f"{HELD}{place}": ancient(path) for place, path in enumerate(accepted)})


def _guarded(rule: Any, gate: Gate, made: JobSteps) -> Callable[..., Any]:
    function = rule.run_func

    @wraps(function)
    def run(given: Any, output: Any, params: Any, wildcards: Any, *rest: Any) -> Any:
        given = without_held(given)
        try:
            gate.check([made.step(rule, dict(wildcards.items()), params, given, output)], made)
        except UserError as error:  # in a thread of the driver: an exit there would leave the job running for ever
            raise WorkflowError(f"sophron: {error}") from None
        return function(given, output, params, wildcards, *rest)

    return run


def planned(graph: Any, made: JobSteps) -> dict[str, Any]:
    """Return a `plan.DryRun` as JSON."""
    jobs = [job for job in graph.needrun_jobs() if is_host(job.rule)]
    steps = sorted((made.of_job(job) for job in jobs), key=lambda step: step.identity)
    products = {str(path) for job in graph.jobs for path in job.products()}
    read = sorted({str(path) for job in jobs for path in without_held(job.input)} - products)
    host = {
        "steps": steps,
        "rules": {job.rule.name: made.parts(job.rule) for job in jobs},
        "unplanned": {
            rule.name: made.bounded(rule)
            for rule in graph.workflow.rules
            if is_host(rule) and not any(job.rule is rule for job in graph.jobs)
        },
        "sources": {path: source_digest(Path(path)) for path in read if Path(path).is_file()},
        "ceilings": _ceilings(jobs),
        "behind": sorted(made.behind),
        "opaque": sorted(made.rules.plain.opaque),
    }
    return {**to_json(of_graph(graph)), "host": to_json(host)}


def _ceilings(jobs: Iterable[Any]) -> dict[str, dict[str, int]]:
    """Rule -> most that the first try of one of its jobs reserves, as far as the rule says."""
    found: dict[str, dict[str, int]] = {}
    for job in jobs:
        amounts = {"cores": job.rule.resources.get("_cores"), "memory_mb": job.resources.get("mem_mb")}
        amounts["runtime_min"] = job.resources.get("runtime")
        most = found.setdefault(job.rule.name, {})
        for key, value in amounts.items():
            if isinstance(value, int):
                most[key] = max(value, most.get(key, 0))
    return found
