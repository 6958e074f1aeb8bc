"""The guard of a host workflow: no job of a rule that nobody signed begins, in the driver or in a job of a queue.

Two hooks on Snakemake's own object. `check` runs after the whole workflow was parsed: every rule's function is wrapped,
which holds in every process that executes a job. `_build_dag` knows all jobs before the first one begins, so that the
driver refuses there: a refusal inside a job would make the driver delete that job's earlier outputs. Rules that a stage
holds get its accepted file as an input, which their own code never sees.
"""

import inspect
import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Protocol

from snakemake.exceptions import WorkflowError

from sophron.campaign.host_workflow.job_steps import HELD, JobSteps, without_held
from sophron.campaign.planning.host_step import PLAN_VARIABLE, HostStep
from sophron.campaign.snakefile.own_rules import in_our_folder, is_ours, one_sentence
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json

THREADS, RESOURCES = 0, 1
"""Places of threads and resources among what a rule's function gets after its wildcards."""
NAMES = {"threads": "_cores", "memory_mb": "mem_mb", "runtime_min": "runtime"}
"""Mechanical key -> Snakemake's name of the resource."""


OF_RULE = re.compile(r"\b(?:rules|checkpoints)\s*\.\s*(\w+)")
"""How a Snakefile names another rule."""


class Gate(Protocol):
    """What the guard asks.

    root: the campaign's folder; held: rule -> accepted files that it waits for; last: files before the target;
    chosen: rule -> mechanical key -> amount that a signed choice gives it.
    """

    root: Path
    held: Mapping[str, Sequence[str]]
    last: Sequence[str]
    chosen: Mapping[str, Mapping[str, int]]

    def charge(self, cores: int, seconds: float) -> None:
        """Count what a job took."""

    def steps_of(self, workflow: Any) -> JobSteps:
        """Return what makes the steps of a workflow, which was parsed."""

    def begin(self, workflow: Any) -> None:
        """Raise what stops a driver."""

    def check(self, steps: Iterable[HostStep], made_by: JobSteps) -> None:
        """Raise what stops jobs."""

    def check_reserved(self, jobs: Iterable[Any]) -> None:
        """Raise what stops a job process that was given more than was signed."""


def attach(workflow: Any, gate: Gate, *, rules: bool = True) -> None:
    """Guard a workflow: to be called while it is parsed. rules: whether the host's own rules are gated."""
    guarded = Guard(workflow, gate, rules=rules)
    workflow.check, workflow._build_dag, workflow.execute = (  # noqa: SLF001 - knows the jobs
        guarded.after_parse,
        guarded.after_build,
        guarded.execute,
    )


class Guard:
    """Stands around three functions of one workflow."""

    def __init__(self, workflow: Any, gate: Gate, *, rules: bool) -> None:
        """workflow: Snakemake's own object, while it is parsed; rules: whether the host's are gated."""
        self.workflow, self.gate, self._rules = workflow, gate, rules
        self._parsed, self._build, self._execute = workflow.check, workflow._build_dag, workflow.execute  # noqa: SLF001
        self._runs = False
        self._checked: dict[int, Any] = {}
        self._steps: JobSteps | None = None

    @property
    def steps(self) -> JobSteps:
        """What makes the steps, once the workflow was parsed."""
        if self._steps is None:
            self._steps = self.gate.steps_of(self.workflow)
        return self._steps

    def after_parse(self) -> None:
        """Guard each rule, and let those that a stage holds wait."""
        self._parsed()
        if not self._rules:
            return
        for rule in self.workflow.rules:
            if is_host(rule):
                rule.run_func = self._guarded(rule)
                _hold(rule, self.gate.held.get(rule.name, ()))
                if PLAN_VARIABLE not in os.environ:
                    _give(rule, self.gate.chosen.get(rule.name, {}))
        target = self.workflow.default_target
        if target and (rule := self.workflow.get_rule(target)).norun and not is_ours(rule):
            _hold(rule, self.gate.last)

    def execute(self, *arguments: Any, **options: Any) -> Any:
        """Run; --dag, --summary, --lint and their like build a graph too, and are not to be asked."""
        self._runs = True
        return self._execute(*arguments, **options)

    def after_build(self) -> None:
        """Write the plan if that is what this process is for, otherwise refuse before the first job."""
        self._build()
        if path := os.environ.get(PLAN_VARIABLE):
            Path(path).write_text(json.dumps(planned(self.workflow.dag, self.steps, self.gate.root)))
        elif self._runs and not self.workflow.dryrun:
            if self.workflow.is_main_process:
                self.gate.begin(self.workflow)
            if not self._rules:
                return
            with one_sentence():
                self._check_jobs()
                if not self.workflow.is_main_process:
                    self.gate.check_reserved(self._checked.values())
            self._watch_checkpoints()

    def _check_jobs(self) -> None:
        """Check jobs that are to run and were not looked at yet."""
        jobs = self.workflow.dag.needrun_jobs()
        new = {id(job): job for job in jobs if id(job) not in self._checked and is_host(job.rule)}
        self.gate.check((self.steps.of_job(job) for job in new.values()), self.steps)
        self._checked |= new

    def _watch_checkpoints(self) -> None:
        """Let the driver end gracefully if a checkpoint brings unsigned jobs: none of their earlier outputs goes."""
        graph = self.workflow.dag
        update = graph.postprocess_after_update

        async def after_update() -> None:
            await update()
            try:
                self._check_jobs()
            except UserError as error:
                print(f"sophron: {error}", file=sys.stderr)
                self.workflow.scheduler._errors = True  # noqa: SLF001 - exit code 1
                self.workflow.scheduler._user_kill = "graceful"  # noqa: SLF001 - what runs may end, nothing begins

        graph.postprocess_after_update = after_update

    def _guarded(self, rule: Any) -> Callable[..., Any]:
        function = rule.run_func

        @wraps(function)
        def run(given: Any, output: Any, params: Any, wildcards: Any, *rest: Any) -> Any:
            given = without_held(given)
            step = self.steps.step(rule, dict(wildcards.items()), params, given, output, rest[RESOURCES])
            try:
                self.gate.check([step], self.steps)
            except UserError as error:  # in a thread of the driver: an exit there would leave the job running for ever
                raise WorkflowError(f"sophron: {error}") from None
            begun = time.monotonic()
            try:
                return function(given, output, params, wildcards, *rest)
            finally:
                self.gate.charge(rest[THREADS], time.monotonic() - begun)

        return run


def is_host(rule: Any) -> bool:
    """Return whether a rule is the host's, and does something."""
    return bool(rule.run_func) and not rule.norun and not is_ours(rule)


def _give(rule: Any, chosen: Mapping[str, int]) -> None:
    """Let a rule have what was chosen for its stage, unless it says a number that is larger."""
    from snakemake.resources import Resource

    for key, amount in chosen.items():
        if key == "retries":
            rule.restart_times = max(rule.restart_times, amount)
            continue
        before = rule.resources.get(NAMES[key])
        known = before.value if isinstance(before, Resource) and not before.is_evaluable() else before
        most = max(known, amount) if isinstance(known, int) else amount
        rule.resources[NAMES[key]] = Resource(NAMES[key], most)


def _hold(rule: Any, accepted: Sequence[str]) -> None:
    """Let a rule wait for accepted files, which neither its body nor its params functions see."""
    from snakemake.io import ancient

    if not accepted:
        return
    for place, (name, value) in enumerate(list(rule.params._allitems())):  # noqa: SLF001 - has no other way to names
        if callable(value):
            rule.params[place] = shown = _blind(value)
            if name is not None:
                setattr(rule.params, name, shown)
    rule.set_input(**{f"{HELD}{place}": ancient(path) for place, path in enumerate(accepted)})


def _blind(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which is given the inputs without what the rule waits for."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return function
    if "input" not in names:
        return function

    @wraps(function)
    def blind(*arguments: Any, **named: Any) -> Any:
        if "input" in named:
            named["input"] = without_held(named["input"])
        return function(*arguments, **named)

    return blind


def planned(graph: Any, made: JobSteps, root: Path) -> dict[str, Any]:
    """Return a `plan.DryRun` as JSON."""
    from sophron.campaign.snakefile.dry_run import of_graph

    jobs = [job for job in graph.needrun_jobs() if is_host(job.rule)]
    made.look_behind(jobs)
    steps = sorted((made.of_job(job) for job in jobs), key=lambda step: step.identity)
    products = {str(path) for job in graph.jobs for path in job.products()}
    read = {str(path): path for job in jobs for path in without_held(job.input)}
    sources = [name for name in {*read} - products if Path(name).exists()]
    planned_rules = {job.rule.name for job in graph.jobs}
    unplanned = [rule for rule in graph.workflow.rules if is_host(rule) and rule.name not in planned_rules]
    host = {
        "steps": steps,
        "rules": {job.rule.name: made.parts(job.rule) for job in jobs},
        "unplanned": {rule.name: made.bounded(rule) for rule in unplanned},
        "patterns": {rule.name: [str(path) for path in rule.output] for rule in unplanned},
        "sources": {name: made.source(name) for name in map(made.rules.plain.places.strip, sorted(sources))},
        "workdir": os.path.relpath(Path.cwd(), root),
        "ceilings": _ceilings(jobs),
        "behind": sorted(made.behind),
        "checkpoints": any(rule.is_checkpoint for rule in graph.workflow.rules),
        "opaque": sorted(made.rules.plain.opaque),
        "unseen": _unseen(made, read.values(), jobs),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "apart": _are_apart(graph.workflow),
        "pipes": sorted({str(path) for job in jobs for path in job.output if _is_stream(path)}),
        "config_files": [os.path.relpath(path) for path in graph.workflow.configfiles],
    }
    return {**to_json(of_graph(graph)), "host": to_json(host)}


def _is_stream(path: Any) -> bool:
    from snakemake.io import is_flagged

    return bool(is_flagged(path, "pipe") or is_flagged(path, "service"))


def _are_apart(workflow: Any) -> bool:
    """Whether the host's Snakefiles name no rule of Sophron's (`rules.sophron_report.output`)."""
    ours = {rule.name for rule in workflow.rules if is_ours(rule)}
    texts = (workflow.sourcecache.open(file).read() for file in workflow.included if not in_our_folder(str(file)))
    return ours.isdisjoint(name for text in texts for name in OF_RULE.findall(text))


def _unseen(made: JobSteps, inputs: Iterable[Any], jobs: Iterable[Any]) -> dict[str, list[str]]:
    """Rule -> what it uses that nobody can sign; under "" what the workflow does."""
    found = {rule: set(names) for rule, names in made.rules.unseen.items()}
    for path in inputs:
        if getattr(path, "storage_object", None) is not None:
            found.setdefault("", set()).add(f"the storage object {path.storage_object.query}")
    for job in jobs:
        known = set(map(str, (*job.input, *job.output)))
        for path in sorted({value for value in job.params if isinstance(value, str) and "/" in value} - known):
            if _is_there(path) and not made.rules.is_made(Path(path)):
                said = f"what is in {made.rules.plain(path)}, which a param names: list it as an input or under also"
                found.setdefault(job.rule.name, set()).add(said)
    return {rule: sorted(names) for rule, names in sorted(found.items())}


def _is_there(path: str) -> bool:
    return "\n" not in path and os.path.exists(path)  # noqa: PTH110 - takes a text that is too long for a name


def _ceilings(jobs: Iterable[Any]) -> dict[str, dict[str, int]]:
    """Rule -> most that the first try of one of its jobs reserves, as far as the rule says."""
    found: dict[str, dict[str, int]] = {}
    for job in jobs:
        cores = job.rule.resources["_cores"]  # as the rule says: Snakemake gives a job no more than --cores
        amounts = {"cores": job.threads if cores.is_evaluable() else cores.value}
        amounts["memory_mb"] = job.resources.get("mem_mb")
        amounts |= {"runtime_min": job.resources.get("runtime"), "gpus": job.resources.get("gpu")}
        most = found.setdefault(job.rule.name, {})
        for key, value in amounts.items():
            if isinstance(value, int):
                most[key] = max(value, most.get(key, 0))
    return found
