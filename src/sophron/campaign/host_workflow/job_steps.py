"""Steps of the host's rules in a plan: identity of each job, and the source files that it reads.

A step is its rule, the digest of its code, the digest of its params, inputs and outputs, and its wildcards. Behind a
checkpoint inputs are not known, so they do not count there.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sophron.campaign.host_workflow.rule_code import Parts, RuleCode, derives
from sophron.campaign.planning.host_step import HostStep
from sophron.records.digests import digest

HELD = "sophron_accepted_"
"""Begins the names of inputs that a rule waits for and never sees: accepted files of stages."""
SHELL_PROGRAM = "shell_exec"
"""The one resource that says what is executed: the program that a shell line is given to."""


class JobSteps:
    """Makes the steps of one workflow."""

    def __init__(self, rules: RuleCode, is_behind: Callable[[str], bool] = lambda _: False) -> None:
        """is_behind: whether a checkpoint decides the inputs of a rule, as signed."""
        self.rules = rules
        self.behind: set[str] = set()
        self._is_behind = is_behind
        self._codes: dict[str, str] = {}

    def parts(self, rule: Any) -> Parts:
        """Return the named parts of a rule."""
        return self.rules.parts(rule)

    def bounded(self, rule: Any) -> str:
        """Return the digest of a rule whose jobs come behind a checkpoint: its code and what its params are made of."""
        return digest(self.rules.parts(rule, params=True))

    def look_behind(self, jobs: Iterable[Any]) -> None:
        """Note the rules of which a checkpoint decides the inputs of some job."""
        self.behind |= {job.rule.name for job in jobs if any(map(_behind_checkpoint, job.input))}

    def source(self, path: str) -> str:
        """Return what counts of a file or folder that no rule makes, as a plan names it; empty if it is not there."""
        place = Path(self.rules.plain.places.full(path))
        return self.rules.files.of_source(place, self.rules.is_made) if place.exists() else ""

    def of_job(self, job: Any) -> HostStep:
        """Return the step of a job of Snakemake's DAG."""
        step = self.step(job.rule, job.wildcards_dict, job.params, job.input, job.output, job.resources)
        logs = [path for path in job.products() if path not in job.output]
        return replace(step, logs=tuple(str(self.rules.plain(str(path))) for path in logs))

    def step(  # noqa: PLR0917 - in the order in which Snakemake gives them to the function of a rule
        self, rule: Any, wildcards: Mapping[str, str], params: Any, inputs: Any, outputs: Iterable[Any], resources: Any
    ) -> HostStep:
        """Return the step of a job: all as Snakemake gives it to the function of its rule."""
        plain, inputs, shell_program = self.rules.plain, without_held(inputs), resources.get(SHELL_PROGRAM)
        made = tuple(str(plain(str(path))) for path in outputs)
        about = {"params": self._params(rule, params), "inputs": self._inputs(rule, inputs), "outputs": made}
        if files := self.rules.file_parts(rule, wildcards, params):
            about["files"] = files
        if isinstance(shell_program, str):
            about[SHELL_PROGRAM] = shell_program
        if rule.name not in self._codes:
            self._codes[rule.name] = digest(self.rules.parts(rule))
        named = tuple(str(plain(str(path))) for path in inputs)
        return HostStep(rule.name, self._codes[rule.name], digest(about), dict(wildcards), named, made)

    def _params(self, rule: Any, params: Any) -> list[object]:
        """Name and value of each; of one that depends on inputs, threads or resources its code counts instead."""
        named = list(rule.params._allitems())  # noqa: SLF001 - the names of params have no other way
        plain = self.rules.plain
        if len(named) != len(params):  # unpack(...)
            return [[name or "", plain(value)] for name, value in params._allitems()]  # noqa: SLF001
        return [
            [name, None if derives(given) else plain(value)] for (name, given), value in zip(named, params, strict=True)
        ]

    def _inputs(self, rule: Any, inputs: Any) -> object:
        if rule.name in self.behind or self._is_behind(rule.name):
            return "behind a checkpoint"
        return self.rules.plain([str(path) for path in inputs])


def _behind_checkpoint(path: Any) -> bool:
    return bool(getattr(path, "flags", {}).get("checkpoint_target"))


def without_held(given: Any) -> Any:
    """Return the inputs of a job as its own code shall see them."""
    names = [name for name, _ in given.items() if name.startswith(HELD)]
    if not names:
        return given
    kept = [(name, item) for name, item in given._allitems() if name not in names]  # noqa: SLF001
    found = type(given)()
    for name, item in kept:
        place = len(found)
        if isinstance(item, list):
            found.extend(item)
            end = len(found)
        else:
            found.append(item)
            end = None
        if name is not None:
            found._set_name(name, place, end)  # noqa: SLF001
    return found
