"""The campaign that builds an agent again for another model: made as any campaign is, and signed by a person."""

import io
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sophron.agentbuild.contract import SHIPPED, Contract
from sophron.agentbuild.release import trail_entry
from sophron.agentbuild.release.trail import Trail
from sophron.agents.gateway.model_catalogue import FILE as MODELS
from sophron.campaign.planning import agent_costs, agent_rules
from sophron.campaign.scaffold import campaign_folder
from sophron.campaign.spec.spec import SPEC_NAME, load
from sophron.kinds.agent_build.campaign_adapter import AGENTS, KIND
from sophron.records.atomic import write_text
from sophron.records.package_data import resource


def prepare(trail: Trail, found: Contract, handles: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
    """Make the campaign `folder`: the contract of the trail, and `handles` (part -> who plays it).

    UserError where the contract is not the trail's, and where there is something in the folder.
    """
    trail_entry.check_same_contract(trail, found.folder)
    campaign_folder.check_empty(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".sophron-", dir=folder.parent) as place:
        draft = Path(place) / folder.name  # whole or absent; a campaign is called as its folder
        _furnish(trail, found, draft)
        _edit(draft / SPEC_NAME, lambda spec: _fill(spec, found, handles))
        _edit(draft / SPEC_NAME, lambda spec: spec["limits"].update(_limits(draft)))
        draft.rename(folder)


def _furnish(trail: Trail, found: Contract, folder: Path) -> None:
    """A campaign with the contract, unless that is shipped, and with the models that the trail's folder knows."""
    campaign_folder.create(KIND, folder)
    if found.folder != resource(SHIPPED, found.name):
        shutil.copytree(found.folder, folder / found.name, ignore=shutil.ignore_patterns("__pycache__"))
    own = trail.folder / MODELS
    if own.is_file():
        (folder / MODELS).parent.mkdir(exist_ok=True)
        shutil.copyfile(own, folder / MODELS)


def _edit(path: Path, change: Any) -> None:
    """Change a spec in place; comments stay."""
    from ruamel.yaml import YAML

    editor, buffer = YAML(), io.StringIO()
    editor.width = 120
    editor.indent(mapping=2, sequence=4, offset=2)
    spec = editor.load(path.read_text(encoding="utf-8"))
    change(spec)
    editor.dump(spec, buffer)
    write_text(path, buffer.getvalue())


def _fill(spec: Any, found: Contract, handles: Mapping[str, Mapping[str, Any]]) -> None:
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
    looped = {name: len(spec.steps(name)) for name in agent_rules.looped(spec)}
    asked = {name: count for name, count in looped.items() if name in spec.agent_rules}
    bounds = agent_costs.total(cost.worst for cost in agent_costs.of_rules(folder, spec, asked))
    whole = {key: int(bounds[key]) for key in ("model_calls", "tokens")} | {"dollars": round(bounds["dollars"], 2)}
    return {key: value for key, value in whole.items() if value}


def next_lines(folder: Path) -> str:
    """What a person does with it."""
    return f"""Next:
  edit {folder}/campaign.yaml         iterations and limits; an agent of another domain belongs into {folder}/agents/
  sophron review {folder}
  sophron approve {folder} --key FILE
  cd {folder} && snakemake
and then this line again."""
