"""A campaign folder to start from: the spec of a kind to edit, the Snakefile that imports the workflow, the profile."""

import copy
import io
import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.campaign.planning import campaign_agents
from sophron.campaign.scaffold import kind_catalogue, yaml_comments
from sophron.campaign.spec.spec import SPEC_NAME
from sophron.interfaces.kind import Kind
from sophron.records import entry_points
from sophron.records.documents import load_yaml
from sophron.records.errors import UserError
from sophron.records.files import resource, write_text

TEMPLATES = ("campaign", "templates", "new")
DRAFT_NAME = "drafted.campaign.yaml"
LARGEST_SEED = 2**31 - 1
SHORTEST_ID = 2


def create(kind_name: str, folder: Path) -> None:
    """Make the campaign `folder`, named as the folder is. UserError if there is something in it already.

    The seed of the spec is drawn here, once: two campaigns are independent unless somebody makes their seeds equal.
    """
    kind: Kind = entry_points.load("sophron.kinds", kind_name)
    check_empty(folder)
    spec = kind_catalogue.render_new(kind, campaign_id(folder), seed=1 + secrets.randbelow(LARGEST_SEED))
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / SPEC_NAME, spec)
    furnish(folder)


def check_empty(folder: Path) -> None:
    """Raise UserError if there is something in the place of a new folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is not an empty folder; give the name of a new one")


def from_draft(folder: Path, draft: Mapping[str, Any], agents: Mapping[str, Any] | None = None) -> Path:
    """Make `folder` the campaign of a drafted spec; where the draft was put.

    agents: who answers for its agents, if the draft does not say. An existing spec stays, and the draft lies beside it;
    what a campaign.yaml holds that is none yet (agents, limits) goes into the draft, which replaces it.
    """
    text = draft_text(folder, draft, agents)
    path = folder / (DRAFT_NAME if "campaign" in _there(folder) else SPEC_NAME)
    write_text(path, text)
    furnish(folder)
    return path


def draft_text(folder: Path, draft: Mapping[str, Any], agents: Mapping[str, Any] | None = None) -> str:
    """Return the text of an agent's draft, for the campaign that `folder` is, as the nearest example is written.

    What would justify a criterion against a published value is UNVERIFIED there: a person's word, not an agent's.
    """
    from ruamel.yaml import YAML

    there = _there(folder)
    begun = {} if "campaign" in there else there
    spec = _completed({"version": 1, **_unjustified(draft), "campaign": campaign_id(folder)}, begun, agents)
    example = kind_catalogue.most_like(spec)
    editor, buffer = YAML(), io.StringIO()
    editor.width = 120
    editor.indent(mapping=2, sequence=4, offset=2)
    if example is None:  # the review says what is wrong with the kind
        editor.dump(spec, buffer)
        return buffer.getvalue()
    ordered = _like(spec, _with_agents(example.spec))
    editor.dump(yaml_comments.inline(ordered, example.text), buffer)
    return yaml_comments.carried_over(buffer.getvalue(), example.text)


def _there(folder: Path) -> Mapping[str, Any]:
    """What campaign.yaml holds already."""
    path = folder / SPEC_NAME
    found = load_yaml(path).data if path.is_file() else {}
    return found if isinstance(found, Mapping) else {}


def _completed(draft: dict[str, Any], begun: Mapping[str, Any], agents: Mapping[str, Any] | None) -> dict[str, Any]:
    """The draft with who answers for its agents, and with the limits that a model then has unless it states its own."""
    who = draft.get("agents") or begun.get("agents") or agents
    limits = {**draft.get("limits", {}), **begun.get("limits", {})}
    asking = {"agents": dict(who), "limits": {**limits, **campaign_agents.default_limits(), **limits}} if who else {}
    return {**draft, **({"limits": limits} if limits else {}), **asking}


def _with_agents(example: Mapping[str, Any]) -> dict[str, Any]:
    """The example's keys with `agents`, which no example has, before the stages."""
    around = {key: value for key, value in example.items() if key != "stages"}
    return {**around, "agents": {}, "stages": example["stages"]}


def _like(value: Any, example: Any) -> Any:
    """`value` with the keys of its mappings in the order of `example`; keys that are not there come last."""
    if isinstance(value, Mapping) and isinstance(example, Mapping):
        keys = [*(key for key in example if key in value), *(key for key in value if key not in example)]
        return {key: _like(value[key], example.get(key)) for key in keys}
    if isinstance(value, list) and isinstance(example, list) and example:
        return [_like(item, example[0]) for item in value]
    return value


def _unjustified(draft: Mapping[str, Any]) -> dict[str, Any]:
    spec = copy.deepcopy(dict(draft))
    method = spec.get("method")  # of any form as yet: it is checked when it is read
    assumptions = method.get("assumptions") if isinstance(method, dict) else None
    for assumption in assumptions if isinstance(assumptions, list) else []:
        if isinstance(assumption, dict) and "criterion" in assumption:
            assumption["status"] = "UNVERIFIED"
    return spec


def furnish(folder: Path) -> None:
    """Add the files that every campaign folder has beside its spec; existing ones stay."""
    templates = resource(*TEMPLATES)
    for name, target in (("Snakefile", "Snakefile"), ("gitignore", ".gitignore")):
        if not (folder / target).exists():
            shutil.copyfile(templates / name, folder / target)
    if not (folder / "profiles" / "default").exists():
        shutil.copytree(resource("profiles", "default"), folder / "profiles" / "default")


def campaign_id(folder: Path, prefix: str = "") -> str:
    """Return the identifier for a campaign in `folder`: its name in lower case, other characters as hyphens.

    prefix: goes before a name that is too short. UserError if the name gives none.
    """
    name = re.sub(r"[^a-z0-9]+", "-", folder.absolute().name.lower()).strip("-")
    if prefix and len(name) < SHORTEST_ID:
        name = f"{prefix}-{name}".strip("-")
    if not SHORTEST_ID <= len(name) <= 63:
        raise UserError(f"{folder}: its name gives no campaign id; use 2 to 63 letters, digits and hyphens")
    return name
