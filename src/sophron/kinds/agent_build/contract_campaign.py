"""The campaign that builds an agent from a contract, made as any campaign is, and a retune for another model by one.

A retune keeps the contract: one more entry of the trail, the same endpoint.
"""

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from sophron.agentbuild.aud import DEFINITION
from sophron.agentbuild.contract import SHIPPED, Contract, Handles
from sophron.agentbuild.release import package
from sophron.agentbuild.release import package as auds
from sophron.agentbuild.release import trail as trails
from sophron.agentbuild.release.package import TOOLS, servers
from sophron.agentbuild.release.trail import BUILD, VERDICT, Source, Trail, add, check_same_contract
from sophron.agentbuild.rubric import Json
from sophron.agents.gateway.gateway import FILE as MODELS
from sophron.campaign.planning import campaign_agents
from sophron.campaign.scaffold import campaign_folder
from sophron.campaign.spec.spec import SPEC_NAME, load
from sophron.kinds.agent_build.agent_inputs import SESSION
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.files import resource, write_bytes, write_text

KIND = "agent_build"
AGENTS = {"agent": "aud", "screen": "judge-screen", "score": "judge-score", "optimize": "optimize"}
"""Part of a contract -> agent of the campaign that plays it."""
AUD = AGENTS["agent"]
FRAMED = ("domain", "instructions", "tools_wired")
"""Inputs of the frozen frame; the others are those of the contract's blank agent."""
INPUTS_BEGIN = "\n# task\n"
"""Where the frame ends in the installed definition."""


def prepare(found: Contract, handles: Handles, folder: Path, furnish: Callable[[Path], None]) -> None:
    """Make the campaign `folder` of a contract. UserError if there is something in the folder.

    furnish: adds to the new folder what this campaign has beside the contract, before its limits are filled in.
    """
    campaign_folder.check_empty(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".sophron-", dir=folder.parent) as place:
        draft = Path(place) / folder.name  # whole or absent; a campaign is called as its folder
        campaign_folder.create(KIND, draft)
        if found.folder != resource(SHIPPED, found.name):
            shutil.copytree(found.folder, draft / found.name, ignore=shutil.ignore_patterns("__pycache__"))
        edit(draft, lambda spec: _fill(spec, found, handles))
        _define_agent(draft, found)
        furnish(draft)
        edit(draft, lambda spec: spec["limits"].update(_limits(draft)))
        if folder.exists():
            folder.rmdir()
        draft.rename(folder)


def _define_agent(draft: Path, found: Contract) -> None:
    """Put the agent under development into a campaign, unless it is the one that every installation has."""
    front, installed = _front(found), campaign_agents.find_agent(None, AUD)
    if all(front.get(key) == installed.front.get(key) for key in ("output", "servers")):
        return
    folder = draft / campaign_agents.FOLDER
    frame, _, _ = installed.prompt.partition(INPUTS_BEGIN)
    places = "\n".join(f"# {role}\n\n{{{{ {role} }}}}\n" for role in front["inputs"] if role not in FRAMED)
    head = yaml.safe_dump(front, sort_keys=False, width=120)
    write_text(folder / f"{AUD}.md", f"{campaign_agents.FENCE}{head}{campaign_agents.FENCE}{frame}\n{places}")
    own = f"schemas/{front['output']}.schema.yaml"
    if (found.blank / own).is_file():
        write_bytes(folder / own, (found.blank / own).read_bytes())


def _front(found: Contract) -> dict[str, Any]:
    """The front matter of a contract's blank agent with what the loop gives every agent, and the whole inventory."""
    front = dict(campaign_agents.load_agent(found.blank / DEFINITION, of_any_name=True).front)
    framed = campaign_agents.find_agent(None, AUD).front["inputs"]
    front |= {"name": AUD, "inputs": {role: framed[role] for role in FRAMED} | dict(front["inputs"])}
    front |= {"tools": list(found.tools["tools"]), "wired_by": "tools_wired", "servers": dict(found.tools["servers"])}
    front.setdefault("keeps", {"trajectory": f"{SESSION}/trajectory.json"})  # the loop wants one of every run
    return front


def edit(folder: Path, change: Callable[[Any], None]) -> None:
    """Change the spec of a campaign in place; comments stay."""
    from ruamel.yaml import YAML

    editor, buffer, path = YAML(), io.StringIO(), folder / SPEC_NAME
    editor.width = 120
    editor.indent(mapping=2, sequence=4, offset=2)
    spec = editor.load(path.read_text(encoding="utf-8"))
    change(spec)
    editor.dump(spec, buffer)
    write_text(path, buffer.getvalue())


def _fill(spec: Any, found: Contract, handles: Handles) -> None:
    graded, stages = found.curriculum, spec["stages"]
    for stage in ("sample", "build"):
        stages[stage]["definition"].update(contract=found.name, contract_digest=found.digest)
    stages["sample"]["definition"]["cases"] = list(graded.cases)
    stages["build"]["definition"]["repeats"] = found.rubric.repeats
    spec["question"]["conditions"] = {"tiers": len(graded.tiers), "held_out": len(graded.held_out)}
    spec["agents"] = {"by_name": {AGENTS[part]: dict(who) for part, who in handles.items()}}


def _limits(folder: Path) -> dict[str, Any]:
    """What the loop may take at most; the person who signs may lower it, and the gate then says whether it fits."""
    spec = load(folder / SPEC_NAME)
    looped = {name: len(spec.steps(name)) for name in campaign_agents.looped_rules(spec)}
    asked = {name: count for name, count in looped.items() if name in spec.agent_rules}
    bounds = campaign_agents.total_cost(cost.worst for cost in campaign_agents.rule_costs(folder, spec, asked))
    whole = {key: int(bounds[key]) for key in ("model_calls", "tokens")} | {"dollars": round(bounds["dollars"], 2)}
    return {key: value for key, value in whole.items() if value}


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

    prepare(found, handles, folder, furnish)


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
        package.endpoint_bytes(auds.load_agent(folder, inventory), before.content.agent, before.content.about)
        for folder in (before.aud, new[-1].parent / "aud")
    ]
    if stated[0] != stated[1]:
        raise UserError(
            f"{new[-1].parent / 'aud'}: its inputs or its answer differ from those of the agent before; a retune "
            "changes what is inside and nothing that callers rely on"
        )


def _told(who: Json) -> str:
    return " ".join(str(value) for value in who.values()) or "nobody"
