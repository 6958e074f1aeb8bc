"""Tune a built agent again for another model: the same contract, one more entry of the trail, the same endpoint."""

from collections.abc import Callable
from pathlib import Path

from sophron.agentbuild.case_run import Json
from sophron.agentbuild.contract import Contract, Handles
from sophron.agentbuild.release import agent_card
from sophron.agentbuild.release import packaged_agent as auds
from sophron.agentbuild.release import trail as trails
from sophron.agentbuild.release.package import TOOLS, servers
from sophron.agentbuild.release.trail import Trail
from sophron.agentbuild.release.trail_entry import BUILD, VERDICT, Source, add, check_same_contract
from sophron.agents.gateway.gateway import FILE as MODELS
from sophron.kinds.agent_build import contract_campaign
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.files import write_bytes

Rerun = Callable[[Handles], Source]
"""Runs the build again with these handles, and says where its records lie."""


def prepare_retune(trail: Trail, found: Contract, handles: Handles, folder: Path) -> None:
    """Make the campaign `folder` that builds a trail's agent again; a person reviews and signs it as any other.

    Raise UserError if the contract is not the trail's, and if there is something in the folder.
    """
    check_same_contract(trail, found.folder)
    own = trail.folder / MODELS

    def furnish(draft: Path) -> None:
        if own.is_file():
            write_bytes(draft / MODELS, own.read_bytes())

    contract_campaign.prepare(found, handles, folder, furnish)


def retune(folder: Path, agent: Json, rerun: Rerun) -> Trail:
    """Build again with `agent` (backend and model) as the agent's model, all other parts as they were.

    The trail gets one entry, tagged with the new handle (AgentBuild, II-D). UserError if nothing would change,
    where the rerun asked another model or used another contract, and where its agent would change what callers see.
    """
    before = trails.load(folder)
    handles = handles_with(before, agent)
    source = rerun(handles)
    asked = documents.load_json(source.build / BUILD)["handles"]
    for part, who in handles.items():
        if not who.items() <= asked.get(part, {}).items():
            raise UserError(
                f"{source.build / BUILD}: {part} was {_told(asked.get(part, {}))}, "
                f"a retune asks {_told(who)}; run it again with that"
            )
    _check_endpoint(before, source)
    return add(folder, source)


def handles_with(trail: Trail, agent: Json) -> dict[str, Json]:
    """Return who plays which part with `agent` as the agent's model. UserError if that is who played it last."""
    handles = dict(trail.entries[-1].models)
    if agent.items() <= handles["agent"].items():
        raise UserError(f"{trail.folder}: the agent was built for {_told(agent)} already; name another model")
    return handles | {"agent": dict(agent)}


def _check_endpoint(before: Trail, source: Source) -> None:
    """Before anything is added: the interface is what outlives a model."""
    inventory = servers(before.folder / "contract" / TOOLS)
    new = sorted(source.build.glob(f"iterations/*/{VERDICT}"), key=lambda path: int(path.parent.name))
    if not new:
        raise UserError(f"{source.build}: no iteration of it has a verdict; run the build to its end first")
    stated = [
        agent_card.endpoint_bytes(auds.load_agent(folder, inventory), before.content.agent, before.content.about)
        for folder in (before.aud, new[-1].parent / "aud")
    ]
    if stated[0] != stated[1]:
        raise UserError(
            f"{new[-1].parent / 'aud'}: its inputs or its answer differ from those of the agent before; a retune "
            "changes what is inside and nothing that callers rely on"
        )


def _told(who: Json) -> str:
    return " ".join(str(value) for value in who.values()) or "nobody"
