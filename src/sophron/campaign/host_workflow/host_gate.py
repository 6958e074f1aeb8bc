"""The gate of a host workflow: an approval in force, and every job in the signed plan, sources as they were."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from sophron.campaign.host_workflow import guard
from sophron.campaign.host_workflow.job_steps import JobSteps, source_digest
from sophron.campaign.planning import host_plan
from sophron.campaign.planning.host_plan import HostStep
from sophron.campaign.snakefile.snakefile_api import RuleView, open_campaign
from sophron.campaign.spec.spec import load_signed
from sophron.records import approvals
from sophron.records.digests import file_digest, is_listed
from sophron.records.errors import Refused
from sophron.records.files import FileLock, read_json, write_json

MOST_NAMES = 3
COUNTED = Path("records") / "host_templates"
"""Where the jobs of bounded rules are counted."""


class HostGate:
    """The gate of one campaign, as the guard asks for it."""

    def __init__(self, root: Path, held: Mapping[str, Sequence[str]], last: Sequence[str]) -> None:
        """root: the campaign's folder; held, last: as of `guard.Gate`."""
        self.root, self.held, self.last = root, held, last

    @property
    def behind(self) -> Sequence[str]:
        """Rules whose inputs a checkpoint decides, as signed; none before the first approval."""
        plan = host_plan.in_force(self.root)
        return plan.behind if plan else ()

    def begin(self, workflow: Any) -> None:
        """Take the campaign, as `onstart:` of Sophron's own workflow does; a module's is not run."""
        from sophron.campaign.snakefile.onstart import begin

        del workflow
        begin(self.root)

    def check(self, steps: Iterable[HostStep], made_by: JobSteps) -> None:
        """Raise Refused if a job is not in the signed plan, or a source file is another one."""
        unsigned = [step for step in steps if not self._is_signed(step, made_by)]
        if unsigned:
            raise Refused(self._sentence(unsigned, made_by))

    @cached_property
    def _approval(self) -> approvals.Approval:
        return approvals.in_force(self.root)

    @cached_property
    def _listing(self) -> Path:
        record = self._approval.record
        path = self.root / approvals.FOLDER / approvals.PLANS / f"{record.steps}.steps"
        if file_digest(path, missing_ok=True) != record.steps:
            raise Refused(f"{path}: the signed list of steps is missing or changed; sign again: sophron approve")
        return path

    @cached_property
    def _plan(self) -> host_plan.HostPlan:
        return host_plan.signed(self.root, self._approval.record.host)

    def _is_signed(self, step: HostStep, made_by: JobSteps) -> bool:
        if not is_listed(self._listing, step.identity) and not self._fits_template(step, made_by):
            return False
        for path in step.inputs:
            if path in self._plan.sources and self._source(path) != self._plan.sources[path]:
                raise Refused(f"{path}: is not the file that was signed as an input of {step.name}; {REMEDY}")
        return True

    def _fits_template(self, step: HostStep, made_by: JobSteps) -> bool:
        """Whether it is one of the bounded jobs: code and params as signed, wildcards as said, not too many."""
        host = load_signed(self._approval).host
        template = host.templates.get(step.rule) if host else None
        rule = next(rule for rule in made_by.rules.workflow.rules if rule.name == step.rule)
        if template is None or self._plan.unplanned.get(step.rule) != made_by.bounded(rule):
            return False
        patterns = template.wildcards
        fits = {*patterns} == {*step.wildcards} and all(
            re.fullmatch(patterns[name], value) for name, value in step.wildcards.items()
        )
        return fits and self._counted(step) <= template.at_most

    def _counted(self, step: HostStep) -> int:
        """How many jobs of its rule there were, this one included."""
        path = self.root / COUNTED / f"{step.rule}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            names = set(read_json(path)) if path.is_file() else set()
            if step.name not in names:
                write_json(path, sorted({*names, step.name}))
            return len({*names, step.name})

    @staticmethod
    def _source(path: str) -> str:
        return source_digest(Path(path)) if Path(path).is_file() else ""

    def _sentence(self, unsigned: Sequence[HostStep], made_by: JobSteps) -> str:
        step, plan = unsigned[0], self._plan
        more = f", and {len(unsigned) - 1} more" if len(unsigned) > 1 else ""
        known = [one for one in plan.steps if one.rule == step.rule]
        if not known:
            return f"the rule {step.rule} is not in the signed plan{more}; {REMEDY}"
        if step.code != known[0].code:
            rule = next(rule for rule in made_by.rules.workflow.rules if rule.name == step.rule)
            names = plan.changed_parts(step.rule, made_by.parts(rule))[:MOST_NAMES]
            return f"the rule {step.rule} is not the signed one (changed: {', '.join(names)}){more}; {REMEDY}"
        if any(one.wildcards == step.wildcards for one in known):
            return f"the step {step.name} has other params or inputs than were signed{more}; {REMEDY}"
        return f"the step {step.name} is not in the signed plan{more}; {REMEDY}"


REMEDY = "look at it and sign: sophron amend, sophron review, sophron approve"


def open_host(folder: str, workflow: Any) -> RuleView:
    """Open the campaign for the host's Snakefile, and guard the rules of the whole workflow."""
    campaign = open_campaign(folder, workflow)
    held: dict[str, list[str]] = {}
    for stage in campaign.stages:
        for rule in campaign.spec.definition(stage).get("holds", ()):
            held.setdefault(rule, []).append(campaign.result_path(stage, "accepted.json"))
    guard.attach(workflow, HostGate(campaign.root, held, [str(campaign.folder / "results" / "report.html")]))
    return campaign
