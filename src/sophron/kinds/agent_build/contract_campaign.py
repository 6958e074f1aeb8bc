"""The campaign that builds an agent from a contract, made as any campaign is: for a retune, and for a rehearsal."""

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sophron.agentbuild.contract import SHIPPED, Contract, Handles
from sophron.campaign.planning import agent_costs, agent_rules
from sophron.campaign.scaffold import campaign_folder
from sophron.campaign.spec.spec import SPEC_NAME, load
from sophron.records.files import write_text
from sophron.records.paths import resource

KIND = "agent_build"
AGENTS = {"agent": "aud", "screen": "judge-screen", "score": "judge-score", "optimize": "optimize"}
"""Part of a contract -> agent of the campaign that plays it."""


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
        furnish(draft)
        edit(draft, lambda spec: spec["limits"].update(_limits(draft)))
        if folder.exists():
            folder.rmdir()
        draft.rename(folder)


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
    looped = {name: len(spec.steps(name)) for name in agent_rules.looped(spec)}
    asked = {name: count for name, count in looped.items() if name in spec.agent_rules}
    bounds = agent_costs.total(cost.worst for cost in agent_costs.of_rules(folder, spec, asked))
    whole = {key: int(bounds[key]) for key in ("model_calls", "tokens")} | {"dollars": round(bounds["dollars"], 2)}
    return {key: value for key, value in whole.items() if value}
