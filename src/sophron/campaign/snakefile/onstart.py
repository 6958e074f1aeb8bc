"""The moment a workflow starts: the driver takes the campaign, and the approval is looked at once before any step."""

import json
import os
from pathlib import Path

from sophron.campaign.approval import amendment_draft, approval_journal, known_signers
from sophron.campaign.execution import campaign_lock
from sophron.campaign.planning.plan_documents import record_in_force
from sophron.campaign.planning.resource_limits import check_jobs
from sophron.campaign.snakefile import local_steps
from sophron.campaign.snakefile.own_rules import around_shell_lines, one_sentence
from sophron.campaign.snakefile.snakefile_api import workflow_of
from sophron.campaign.spec.spec import SPEC_NAME, load
from sophron.campaign.state.projector import project
from sophron.records import approvals, core_hours, digests, entry_points, events, secret_keys
from sophron.records.errors import Refused
from sophron.records.files import FileLock

NEEDS = "sophron.needs"
"""What a campaign needs to start, functions of its folder that raise UserError."""
_held: list[FileLock] = []


def begin(folder: str | Path) -> None:
    """What `onstart:` calls, ours and a host's: one sentence and exit code 2 where the workflow must not start."""
    with one_sentence():
        root = Path(folder).absolute()
        take(root)
        spec, workflow = load(root / SPEC_NAME), workflow_of(root)
        if workflow is not None:
            os.environ.update(local_steps.job_variables(root, spec, Path(workflow.main_snakefile)))
        check_shell(root)
        check_requests(root)
        for name in entry_points.names(NEEDS):
            entry_points.load(NEEDS, name)(root)
        secret_keys.withhold(local_steps.key_variables(root))
        local_steps.start(root, spec, workflow)


def take(root: Path) -> None:
    """Take the campaign. Raises UserError if another driver runs, Refused if nothing valid is signed.

    The lock is held until this process ends, however it ends.
    """
    _held.append(campaign_lock.driver_lock(root))
    try:
        approvals.check_log(root)  # the report wants the whole of it: better refused now than after the computing
        approval_journal.restore_gate(root)
        approval = approvals.valid_approval(root)
        known_signers.check(approval)
        check_agents(approval)
    except Refused as error:
        events.append(root, "sophron", "refused", step="snakemake", reason=str(error))
        project(root)
        raise
    _held[-1].note(json.dumps(campaign_lock.me() | approvals.stamp(approval)))
    core_hours.settle(root)
    record_in_force(root)


def check_agents(approval: approvals.Approval) -> None:
    """Raise Refused if an agent is not the signed one: better now than after days, when the report asks for it."""
    root, record = approval.root, approval.record
    changed = amendment_draft.agents_changed(root, load(root / SPEC_NAME), record.agents)
    if changed:
        files = digests.read_code(root, record.kind_folder, record.loaded)
        names = digests.changed_files(approvals.signed_files(root, record), files, [digests.PROMPTS])
        raise Refused(approvals.another_agent(" and ".join(changed), names))


def check_shell(root: Path) -> None:
    """Raise Refused if something puts another text around every shell line than was signed; no step could see that."""
    signed = approvals.signed_gate(root).record.shell
    if workflow_of(root) is not None and around_shell_lines() != signed:
        raise Refused(
            "this workflow sets a shell prefix or suffix that is not the signed one; "
            "remove it, or look at it and sign: sophron review, sophron approve"
        )


def check_requests(root: Path) -> None:
    """Raise Refused if this run's profile or command line asks for more than was signed: nothing is submitted yet."""
    workflow = workflow_of(root)
    if workflow is not None:
        check_jobs(workflow.dag.needrun_jobs(), approvals.signed_gate(root).record)
