"""The moment a workflow starts: the driver takes the campaign, and the approval is looked at once before any step."""

import json
import os
from pathlib import Path

from sophron.campaign.approval import amendment_draft, approval_journal, known_signers
from sophron.campaign.execution import campaign_lock
from sophron.campaign.planning.campaign_agents import DEFAULT_BACKEND
from sophron.campaign.planning.plan_documents import record_in_force
from sophron.campaign.planning.resource_limits import check_jobs
from sophron.campaign.snakefile.own_rules import around_shell_lines, one_sentence
from sophron.campaign.snakefile.snakefile_api import workflow_of
from sophron.campaign.spec.spec import SPEC_NAME, load
from sophron.campaign.state.projector import project
from sophron.records import approvals, core_hours, digests, entry_points, events, secret_keys
from sophron.records.documents import load_yaml, validate
from sophron.records.errors import Refused
from sophron.records.files import FileLock, resource
from sophron.warm_workers import fork_server
from sophron.warm_workers.fork_client import VARIABLE

NEEDS = "sophron.needs"
"""What a campaign needs to start, functions of its folder that raise UserError."""
MODELS = ("config", "models.yaml")
_held: list[FileLock] = []


def begin(folder: str | Path) -> None:
    """What `onstart:` calls, ours and a host's: one sentence and exit code 2 where the workflow must not start."""
    with one_sentence():
        root = Path(folder).absolute()
        take(root)
        _protect_jobs(root)
        check_shell(root)
        check_requests(root)
        for name in entry_points.names(NEEDS):
            entry_points.load(NEEDS, name)(root)
        secret_keys.withhold(key_variables(root))
        _start_fork_server(root)


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


def _start_fork_server(root: Path) -> None:
    """Let the steps of a local run be forked from a process that has imported what they do."""
    workflow = workflow_of(root)
    if workflow is None or workflow.executor_plugin.name != "local":
        os.environ.pop(VARIABLE, None)  # of a driver that started this one
        return
    data = load(root / SPEC_NAME).data
    agents = data.get("agents", {})
    backends = {block.get("backend", DEFAULT_BACKEND) for block in (agents, *agents.get("by_name", {}).values())}
    engines = entry_points.names("sophron.engines")
    known = [("sophron.kinds", data["kind"]), *(("sophron.models", name) for name in sorted(backends))]
    known += [("sophron.engines", name) for name in engines]
    fork_server.start(root, [module for group, name in known if (module := entry_points.module(group, name))])


def _protect_jobs(root: Path) -> None:
    """Let no Python of a job import from the campaign's folder. A host's own scripts may do as they like."""
    workflow = workflow_of(root)
    if workflow is not None and Path(workflow.main_snakefile).parent == root and load(root / SPEC_NAME).host is None:
        os.environ["PYTHONSAFEPATH"] = "1"


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


def key_variables(root: Path) -> list[str]:
    """Return the names of the variables from which the models of a campaign take their keys."""
    found = []
    # A campaign's own file may hold single keys of an entry.
    for path, pointer in ((resource(*MODELS), ""), (root.joinpath(*MODELS), "changes")):
        if path.is_file():
            document = load_yaml(path)
            validate(document, "models", pointer)
            found += [entry["key_env"] for entry in document.data["models"].values() if entry.get("key_env")]
    return found
