"""The gate of a host workflow: an approval in force, and every job in the signed plan, sources as they were."""

import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sophron.campaign.host_workflow import guard
from sophron.campaign.host_workflow.job_steps import JobSteps
from sophron.campaign.host_workflow.rule_code import RuleCode
from sophron.campaign.planning.host_step import APART, PLAN_VARIABLE, HostStep, mark
from sophron.records import approvals, core_hours
from sophron.records.digests import file_digest, is_listed
from sophron.records.errors import Refused
from sophron.records.files import FileLock, read_json, write_json

if TYPE_CHECKING:
    from sophron.campaign.planning.host_plan import HostPlan
    from sophron.campaign.spec.spec import JobTemplate

MOST_NAMES = 3
BISECTED = 300
"""Questions after which the signed list is read whole: a job process asks a few, a driver thousands."""
COUNTED = Path("records") / "host_templates"
"""Where the jobs of bounded rules are counted."""


class HostGate:
    """The gate of one campaign, as the guard asks for it."""

    def __init__(
        self,
        root: Path,
        held: Mapping[str, Sequence[str]],
        last: Sequence[str],
        also: Sequence[str] = (),
        *,
        chosen: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
        limit: float | None = None,
        approval: approvals.Approval | None = None,
    ) -> None:
        """root: the campaign's folder; held, last, chosen: as of `guard.Gate`; also: patterns of files that decide.

        limit: core-hours that the spec allows itself, None if it does not say; approval: in force, if it is known.
        """
        self.root, self.held, self.last, self._also, self.chosen = root, held, last, also, chosen
        self._limit, self._known = limit, approval

    def steps_of(self, workflow: Any) -> JobSteps:
        """Return what makes the steps. While a plan is made nothing that was signed counts."""
        planning = PLAN_VARIABLE in os.environ
        return JobSteps(RuleCode(workflow, self.root, self._also), (lambda _: False) if planning else self._is_behind)

    def begin(self, workflow: Any) -> None:
        """Take the campaign, as `onstart:` of Sophron's own workflow does; a module's is not run."""
        from sophron.campaign.host_workflow.run_record import record_run
        from sophron.campaign.snakefile.onstart import begin

        begin(self.root)
        record_run(self.root, workflow, (job for job in workflow.dag.jobs if guard.is_host(job.rule)))

    def check(self, steps: Iterable[HostStep], made_by: JobSteps) -> None:
        """Raise Refused if a job is not in the signed plan, or a source file is another one; it is recorded too."""
        try:
            self._check(steps, made_by)
        except Refused as error:
            from sophron.campaign.state.projector import project
            from sophron.records import events

            events.append(self.root, "sophron", "refused", step="snakemake", reason=str(error))
            project(self.root)
            raise

    def charge(self, cores: int, seconds: float) -> None:
        """Count what a job took, if a limit of core-hours was signed: without one a plan bounds our own steps alone."""
        if self._limit is not None:
            core_hours.charge(self.root, cores * seconds)

    def _check(self, steps: Iterable[HostStep], made_by: JobSteps) -> None:
        if self._limit is not None and (used := core_hours.core_hours(self.root)) >= self._limit:
            raise Refused(
                f"{used:.3f} core-hours are used, beyond the signed envelope of {self._limit:g}; raise "
                "limits.core_hours with: sophron amend"
            )
        sources: dict[str, str] = {}
        unsigned = [step for step in steps if not self._is_signed(step, made_by, sources)]
        if unsigned:
            raise Refused(self._sentence(unsigned, made_by))

    def check_reserved(self, jobs: Iterable[Any]) -> None:
        """Raise Refused if a job process was given more than was signed, as `begin` does in the driver."""
        from sophron.campaign.planning.resource_limits import check_jobs

        check_jobs(jobs, self._approval.record)

    @cached_property
    def _approval(self) -> approvals.Approval:
        return self._known or approvals.in_force(self.root)

    @cached_property
    def _listing(self) -> "_Listing":
        record = self._approval.record
        path = self.root / approvals.FOLDER / approvals.PLANS / f"{record.steps}.steps"
        if file_digest(path, missing_ok=True) != record.steps:
            raise Refused(f"{path}: the signed list of steps is missing or changed; sign again: sophron approve")
        return _Listing(path)

    def are_apart(self, rules: Sequence[str]) -> bool:
        """Whether these are rules of the signed workflow, and no rule of it names one of Sophron's."""
        return all(map(self._listing.has, [mark(APART), *(mark("rule", rule) for rule in rules)]))

    @property
    def _plan(self) -> "HostPlan":
        """The whole of it, which only a refusal and a template need."""
        from sophron.campaign.planning import host_plan

        return host_plan.signed(self.root, self._approval.record.host)

    def _template(self, rule: str) -> "JobTemplate | None":
        from sophron.campaign.spec.spec import load_signed

        host = load_signed(self._approval).host
        return host.templates.get(rule) if host else None

    def _is_behind(self, rule: str) -> bool:
        return self._listing.has(mark("behind", rule))

    def _is_signed(self, step: HostStep, made_by: JobSteps, sources: dict[str, str]) -> bool:
        if not self._listing.has(step.identity) and not self._fits_template(step, made_by):
            return False
        for path in step.inputs:
            if path not in sources and self._listing.has(mark("source", path)):
                sources[path] = made_by.source(path)
            if path in sources and not self._listing.has(mark("source", path, sources[path])):
                raise Refused(f"{path}: is not the file that was signed as an input of {step.name}; {REMEDY}")
        return True

    def _fits_template(self, step: HostStep, made_by: JobSteps) -> bool:
        """Whether it is one of the bounded jobs: code and params as signed, wildcards as said, not too many."""
        template = self._template(step.rule)
        if template is None or self._plan.unplanned.get(step.rule) != made_by.bounded(_rule(step, made_by)):
            return False
        patterns = template.wildcards
        fits = {*patterns} == {*step.wildcards} and all(
            re.fullmatch(patterns[name], value) for name, value in step.wildcards.items()
        )
        return fits and self._counts(step, template.at_most)

    def _counts(self, step: HostStep, most: int) -> bool:
        """Whether it is among so many jobs of its rule under the plan in force; it is counted then."""
        path = self.root / COUNTED / self._approval.record.host[:16] / f"{step.rule}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            names = {tuple(sorted(one.items())) for one in read_json(path)} if path.is_file() else set()
            names.add(tuple(sorted(step.wildcards.items())))
            if len(names) <= most:
                write_json(path, [dict(one) for one in sorted(names)])
            return len(names) <= most

    def _sentence(self, unsigned: Sequence[HostStep], made_by: JobSteps) -> str:
        step, plan = unsigned[0], self._plan
        more = f", and {len(unsigned) - 1} more" if len(unsigned) > 1 else ""
        python = ".".join(platform.python_version_tuple()[:2])
        if plan.python and python != plan.python:
            return (
                f"this is Python {python}, and the plan was made with {plan.python}, whose bytecode is signed{more}; "
                "use that one, or sign again: sophron review, sophron approve"
            )
        known = [one for one in plan.steps if one.rule == step.rule]
        if not known and step.rule in plan.unplanned:
            return self._of_template(step, made_by) + more + f"; {REMEDY}"
        if not known:
            return f"the rule {step.rule} is not in the signed plan{more}; {REMEDY}"
        if step.code != known[0].code:
            names = plan.changed_parts(step.rule, made_by.parts(_rule(step, made_by)))[:MOST_NAMES]
            return f"the rule {step.rule} is not the signed one (changed: {', '.join(names)}){more}; {REMEDY}"
        if any(one.wildcards == step.wildcards for one in known):
            return f"the step {step.name} has other params or inputs than were signed{more}; {REMEDY}"
        return f"the step {step.name} is not in the signed plan{more}; {REMEDY}"

    def _of_template(self, step: HostStep, made_by: JobSteps) -> str:
        template = self._template(step.rule)
        if template is None:
            return (
                f"the step {step.name} is not in the signed plan, and campaign.yaml bounds no jobs of {step.rule}: "
                "workflow.templates"
            )
        if self._plan.unplanned[step.rule] != made_by.bounded(_rule(step, made_by)):
            return f"the rule {step.rule} is not the signed one"
        return (
            f"the step {step.name} is beyond what campaign.yaml says of {step.rule}: at most {template.at_most} with "
            f"{', '.join(f'{name} {pattern}' for name, pattern in template.wildcards.items())}"
        )


class _Listing:
    """The signed list: bisected for a few questions, read whole for many."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._asked = 0

    def has(self, identity: str) -> bool:
        """Whether the list holds it."""
        self._asked += 1
        return identity in self._all if self._asked > BISECTED else is_listed(self._path, identity)

    @cached_property
    def _all(self) -> frozenset[str]:
        return frozenset(self._path.read_text().splitlines())


def _rule(step: HostStep, made_by: JobSteps) -> Any:
    return made_by.rules.workflow.get_rule(step.rule)


REMEDY = "look at it and sign: sophron amend, sophron review, sophron approve"
