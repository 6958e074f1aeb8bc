"""Steps of the host's rules in a plan: identity of each job, and the source files that it reads.

A step is its rule, the digest of its code, the digest of its params and inputs, and its wildcards. Behind a checkpoint
inputs are not known, so they do not count there.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sophron.campaign.host_workflow.rule_code import Parts, RuleCode, derives
from sophron.campaign.planning.host_plan import HostStep
from sophron.records.digests import digest

HELD = "sophron_accepted_"
"""Begins the names of inputs that a rule waits for and never sees: accepted files of stages."""
LARGEST = 1 << 20
"""Bytes of a source file above which its size counts, and not its content, unless it is named under `also`."""


class JobSteps:
    """Makes the steps of one workflow."""

    def __init__(self, workflow: Any, behind: Iterable[str] = ()) -> None:
        """workflow: Snakemake's own object, after it was parsed; behind: rules whose inputs a checkpoint decides."""
        self.rules = RuleCode(workflow)
        self.behind = set(behind)
        self._codes: dict[str, str] = {}

    def parts(self, rule: Any) -> Parts:
        """Return the named parts of a rule."""
        return self.rules.parts(rule)

    def bounded(self, rule: Any) -> str:
        """Return the digest of a rule whose jobs come behind a checkpoint: its code and what its params are made of."""
        return digest(self.rules.parts(rule, params=True))

    def of_job(self, job: Any) -> HostStep:
        """Return the step of a job of Snakemake's DAG."""
        return self.step(job.rule, job.wildcards_dict, job.params, without_held(job.input), map(str, job.output))

    def step(
        self, rule: Any, wildcards: Mapping[str, str], params: Any, inputs: Any, outputs: Iterable[str] = ()
    ) -> HostStep:
        """Return the step of a job: params and inputs as Snakemake gives them to it."""
        about = {"params": self._params(rule, params), "inputs": self._inputs(rule, inputs)}
        if rule.name not in self._codes:
            self._codes[rule.name] = digest(self.rules.parts(rule))
        plain = self.rules.plain
        named = tuple(str(plain(str(path))) for path in inputs)
        return HostStep(
            rule.name,
            self._codes[rule.name],
            digest(about),
            dict(wildcards),
            named,
            tuple(map(str, map(plain, outputs))),
        )

    def _params(self, rule: Any, params: Any) -> list[object]:
        """Name and value of each; of one that depends on inputs, threads or resources its code counts instead."""
        named = rule.params._allitems()  # noqa: SLF001 - the names of params have no other way
        plain = self.rules.plain
        return [
            [name, None if derives(given) else plain(value)] for (name, given), value in zip(named, params, strict=True)
        ]

    def _inputs(self, rule: Any, inputs: Any) -> object:
        if any(_behind_checkpoint(path) for path in inputs):
            self.behind.add(rule.name)
        if rule.name in self.behind:
            return "behind a checkpoint"
        return self.rules.plain([str(path) for path in inputs])


def _behind_checkpoint(path: Any) -> bool:
    return bool(getattr(path, "flags", {}).get("checkpoint_target"))


def source_digest(path: Path) -> str:
    """Return what counts of a file that no rule makes: its content, above a megabyte its size alone."""
    size = path.stat().st_size
    if size > LARGEST:
        return f"size {size}"
    return hashlib.sha256(path.read_bytes()).hexdigest()


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
