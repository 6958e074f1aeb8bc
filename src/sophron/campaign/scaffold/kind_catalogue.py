"""What a design can start from, as plain data: installed kinds with stages, schemas and examples, and the pitfalls."""

from pathlib import Path
from typing import Any

from sophron.campaign.spec.pitfalls import catalogue
from sophron.campaign.spec.spec import SPEC_NAME
from sophron.interfaces.kind import Kind
from sophron.records import documents, entry_points, templates
from sophron.records.files import resource
from sophron.records.strict_yaml import parse


def kinds() -> dict[str, Any]:
    """Return kind -> {stages, schemas, templates, questions}.

    stages: list of {name, depends_on, optional}; schemas: stage -> its `$defs` without the result; templates: list of
    {name, spec}, the campaign that `sophron new` makes and the shipped campaigns of the kind; questions: what the
    kind answers in those, {quantities, conditions}, each name -> unit.
    """
    offered = {}
    for name in entry_points.names("sophron.kinds"):
        kind: Kind = entry_points.load("sophron.kinds", name)
        templates = [*_new(kind), *_shipped(name)]
        offered[name] = {
            "stages": [
                {"name": stage.name, "depends_on": list(stage.depends_on), "optional": stage.optional}
                for stage in kind.stages
            ],
            "schemas": {stage.name: _definition(stage.schema) for stage in kind.stages},
            "templates": templates,
            "questions": _questions(kind, templates),
        }
    return offered


def pitfalls(campaign_root: Path) -> list[dict[str, Any]]:
    """Return the catalogue as it stands in its files, sorted by id."""
    return [documents.load_yaml(pitfall.path).data for pitfall in catalogue(campaign_root)]


def _definition(schema: str) -> dict[str, Any]:
    return {key: value for key, value in documents.schema(schema)["$defs"].items() if key != "result"}


def _questions(kind: Kind, templates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for template in templates:
        if kind.question is None:
            break
        stages = template["spec"]["stages"]
        about = kind.question({name: block["definition"] for name, block in stages.items()})
        told = {"quantities": dict(about.quantities), "conditions": dict(about.conditions)}
        found += [] if told in found else [told]
    return found


def _new(kind: Kind) -> list[dict[str, Any]]:
    path = resource("campaign", "templates", "new") / (kind.template or f"{kind.name}.yaml.j2")
    if not path.is_file():
        return []
    rendered = templates.render(path, campaign=f"new-{kind.name}".replace("_", "-"), seed=1)
    return [{"name": f"new-{kind.name}", "spec": parse(rendered.encode(), str(path))[0]}]


def _shipped(kind: str) -> list[dict[str, Any]]:
    found = []
    for path in sorted(resource("campaigns").glob(f"*/{SPEC_NAME}")):
        spec = documents.load_yaml(path).data
        if spec.get("kind") == kind:
            found.append({"name": path.parent.name, "spec": spec})
    return found
