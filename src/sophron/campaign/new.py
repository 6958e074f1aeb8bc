"""A campaign folder to start from: the spec of a kind to edit, the Snakefile that imports the workflow, the profile."""

import io
import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.campaign.spec import SPEC_NAME
from sophron.interfaces.kind import Kind
from sophron.records import registry
from sophron.records.atomic import write_text
from sophron.records.errors import UserError
from sophron.records.resources import resource

TEMPLATES = ("campaign", "templates", "new")
DRAFT_NAME = "drafted.campaign.yaml"
LARGEST_SEED = 2**31 - 1


def create(kind_name: str, folder: Path) -> None:
    """Make the campaign `folder`, named as the folder is. UserError where there is something in it already.

    The seed of the spec is drawn here, once: two campaigns are independent unless somebody makes their seeds equal.
    """
    kind: Kind = registry.load("sophron.kinds", kind_name)
    check_empty(folder)
    spec = _spec(kind, campaign_id(folder))
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / SPEC_NAME, spec)
    furnish(folder)


def check_empty(folder: Path) -> None:
    """UserError where there is something in the place of a new folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is not an empty folder; give the name of a new one")


def from_draft(folder: Path, draft: Mapping[str, Any]) -> Path:
    """Make `folder` the campaign of a drafted spec; where the draft was put. An existing campaign.yaml stays."""
    path = folder / (DRAFT_NAME if (folder / SPEC_NAME).exists() else SPEC_NAME)
    write_text(path, draft_text(folder, draft))
    furnish(folder)
    return path


def draft_text(folder: Path, draft: Mapping[str, Any]) -> str:
    """The text of a drafted spec, for the campaign that `folder` is."""
    from ruamel.yaml import YAML

    editor, buffer = YAML(), io.StringIO()
    editor.width = 120
    editor.indent(mapping=2, sequence=4, offset=2)
    editor.dump({**draft, "campaign": campaign_id(folder)}, buffer)
    return buffer.getvalue()


def furnish(folder: Path) -> None:
    """What every campaign folder has beside its spec; what is there already stays."""
    templates = resource(*TEMPLATES)
    for name, target in (("Snakefile", "Snakefile"), ("gitignore", ".gitignore")):
        if not (folder / target).exists():
            shutil.copyfile(templates / name, folder / target)
    if not (folder / "profiles" / "default").exists():
        shutil.copytree(resource("profiles", "default"), folder / "profiles" / "default")


def campaign_id(folder: Path) -> str:
    """Identifier for a campaign in `folder`: its name in lower case, other characters as hyphens."""
    name = re.sub(r"[^a-z0-9]+", "-", folder.absolute().name.lower()).strip("-")
    if not 2 <= len(name) <= 63:
        raise UserError(f"{folder}: its name gives no campaign id; use 2 to 63 letters, digits and hyphens")
    return name


def _spec(kind: Kind, campaign: str) -> str:
    from jinja2 import Environment, StrictUndefined

    # A kind that comes from another distribution gives the absolute path of its template.
    path = resource(*TEMPLATES) / (kind.template or f"{kind.name}.yaml.j2")
    if not path.is_file():
        raise UserError(f'the kind "{kind.name}" brings no campaign to start from; copy one that exists')
    template = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True).from_string(  # noqa: S701 - YAML
        path.read_text(encoding="utf-8")
    )
    text: str = template.render(campaign=campaign, seed=1 + secrets.randbelow(LARGEST_SEED))
    return text
