"""A rehearsal: a campaign of its own in which rules of thumb play every part, signed by a key that nobody keeps.

It runs the same loop as any campaign of the kind, behind the same gate. Its only trusted key signs once and is
destroyed, so no amendment of it can ever be signed: no rehearsal becomes a campaign that a person approved.
"""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sophron.agentbuild import aud
from sophron.agentbuild.contract import Contract
from sophron.agents.gateway.gateway import STAND_INS
from sophron.agents.supervisor import snakemake_process
from sophron.campaign.approval import approval_journal, approve
from sophron.campaign.execution import campaign_lock, outcome_store
from sophron.campaign.planning import campaign_agents, plan_documents
from sophron.campaign.spec.pitfalls import ProbeSpec
from sophron.campaign.spec.spec import SPEC_NAME, Spec, load
from sophron.kinds.agent_build import contract_campaign
from sophron.records import approvals
from sophron.records.errors import UserError

SIGNER = "rehearsal@no-person"
TITLE = "Rehearsal, which no person reviewed or signed"
OLD = "build.json"
"""What a rehearsal of an earlier Sophron left, which had a loop of its own."""
ASSUMPTION = {
    "id": "rehearsal",
    "statement": "Rules of thumb answer for every agent, and no person approved this: it says nothing about models.",
    "verified_by": "agents of campaign.yaml; approvals/allowed_signers, whose one key was destroyed when it had signed",
    "status": "verified",
}
COMMAND = ("snakemake", "--profile", "none", "--executor", "local", "--cores", "all", "--keep-going")
TARGET = "results/build/passed"
KNOWN_ANSWER = "refinement"
"""The one answer of an agent under development that rules of thumb can give."""


def is_rehearsal(spec: Spec) -> bool:
    """Return whether a campaign is one, by what its plan says of itself."""
    return str(spec.data["method"]["name"]) == TITLE


def begin(found: Contract, iterations: int, folder: Path, probe: ProbeSpec) -> None:
    """Make the campaign `folder` and sign it, unless this rehearsal was begun there already.

    Raise UserError if a model would be asked, and if the folder holds something else.
    """
    for part, who in found.handles.items():
        if who["backend"] not in STAND_INS:
            raise UserError(
                f"{found.folder / 'models.yaml'}: {part}: {who['backend']} is asked in a campaign alone; "
                "make one with: sophron new agent_build DIR"
            )
    refuse_old(folder)
    if not (folder / SPEC_NAME).is_file():
        contract_campaign.prepare(found, found.handles, folder, lambda draft: _furnish(draft, iterations))
    _check_same(folder, found, iterations)
    with campaign_lock.signing(folder):
        approval_journal.finish_locked(folder)
        if approvals.newest(folder) is None:
            _sign(folder, probe)


def beyond_rules_of_thumb(found: Contract) -> list[str]:
    """Return one sentence for each agent that no rule of thumb can play for a contract, none if it is known."""
    output = aud.definition(found.blank, found.tools["servers"]).front["output"]
    if output == KNOWN_ANSWER:
        return []
    checked = ", ".join(one.code for one in found.rubric.dimensions if one.checks) or "no dimension"
    return [
        f"aud: its rule of thumb refines powder patterns and has no answer of the form {output}, so every case fails",
        "optimize: its rule of thumb edits recipes of refinements, so nothing is changed",
        f"judge-score: its rule of thumb gives what it is asked the threshold; programs judge {checked}",
    ]


def refuse_old(folder: Path) -> None:
    """Raise UserError for the folder of a rehearsal that was not a campaign yet."""
    if (folder / OLD).is_file():
        raise UserError(
            f"{folder / OLD}: is a rehearsal of an earlier Sophron, which goes on no more; "
            "rehearse the contract again in a new folder: sophron build rehearse CONTRACT DIR"
        )


def _furnish(draft: Path, iterations: int) -> None:
    def mark(spec: Any) -> None:
        spec["campaign"] = f"rehearsal-{spec['campaign']}"[:63].rstrip("-")
        spec["method"] = {"name": TITLE, "assumptions": [ASSUMPTION]}
        spec["limits"] = {"trials": iterations + 1}
        spec["stages"]["build"]["definition"]["iterations"] = iterations

    contract_campaign.edit(draft, mark)


def _check_same(folder: Path, found: Contract, iterations: int) -> None:
    spec = load(folder / SPEC_NAME)
    if not is_rehearsal(spec):
        raise UserError(f"{folder}: is a campaign and not a rehearsal; give the name of a new folder")
    wanted = {"contract_digest": found.digest, "iterations": iterations}
    definition = spec.definition("build")
    changed = [key for key, value in wanted.items() if definition[key] != value]
    if changed:
        raise UserError(
            f"{folder / SPEC_NAME}: the rehearsal was begun with another {' and '.join(changed)}; "
            "begin a new one elsewhere"
        )


def _sign(folder: Path, probe: ProbeSpec) -> None:
    """Sign with a key made for this and destroyed. UserError if the plan would ask anything but rules of thumb."""
    proposal = approve.propose(folder, probe=probe)
    spec = proposal.plan.spec
    for agent in campaign_agents.agent_names(folder):
        who = campaign_agents.chosen(spec.data, agent)["backend"]
        if who not in STAND_INS:
            raise UserError(f"{folder / SPEC_NAME}: agents: {agent}: {who} is asked in no rehearsal; take it out")
    with TemporaryDirectory(prefix="sophron-rehearsal-") as place:
        key = Path(place) / "key"
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", SIGNER, "-f", str(key)]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
        approve.sign(proposal, key, SIGNER)
    plan_documents.record_in_force(folder, proposal.plan)


def run(folder: Path) -> bool:
    """Run the loop on this machine until it ends; whether the last tier passed, and all that was held out.

    Raise UserError if it did not come to its end; the next call goes on.
    """
    with snakemake_process.signals_raised():
        ended = snakemake_process.run(folder, [*COMMAND, "--", TARGET], {})
    if ended.code and outcome_store.published(folder, "build") is None:
        raise UserError(
            f"{folder}: the rehearsal has not come to its end; what failed stands above; then go on with it"
        )
    return ended.code == 0
