"""A skill that an agent drafted: held against the format, and laid where a person reads it before it is taken.

Its front matter says who drafted it, so that `sophron skill add` wants a person's word for it, and the review shows it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sophron.campaign.skills import danger_checks, skill_folder
from sophron.campaign.skills.danger_checks import DRAFTED, DRAFTED_BY
from sophron.campaign.skills.skill_folder import FENCE, SKILL_FILE, Skill
from sophron.records.errors import UserError

FOLDER = "skill-drafts"
"""Folder of a campaign's drafted skills; no agent is given what lies there."""
MOST_LINES = 120
SPOKEN_OF = ("network", "installs")
"""Kinds of findings that a text may have, which may say that there is none; the person who takes it is shown them."""


@dataclass(frozen=True)
class DraftFile:
    """A file of a draft beside its SKILL.md."""

    path: str
    text: str


@dataclass(frozen=True)
class SkillDraft:
    """A drafted skill. text: what stands below its front matter."""

    name: str
    description: str
    text: str
    files: tuple[DraftFile, ...] = ()


def as_skill(draft: SkillDraft, by: str) -> Skill:
    """Return a draft as a skill of the format. by: who drafted it, of what. UserError if the format refuses it."""
    # JSON is YAML: quoted so, no word of a model becomes another key.
    front = "".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}\n"
        for key, value in (("name", draft.name), ("description", draft.description), ("metadata", {DRAFTED_BY: by}))
    )
    text = f"{FENCE}{front}{FENCE}{draft.text.strip()}\n"
    files = {SKILL_FILE: text.encode(), **{one.path: one.text.encode() for one in draft.files}}
    return skill_folder.of_files(Path(draft.name), files)


def faults(draft: SkillDraft) -> Iterator[str]:
    """Yield what speaks against a draft: its form, its length, and what no step of a campaign may ask for."""
    try:
        skill = as_skill(draft, "an agent")
    except UserError as error:
        yield str(error)
        return
    if (lines := skill.body.count("\n")) > MOST_LINES:
        yield f"text has {lines} lines, at most are {MOST_LINES}; leave out what a capable worker knows"
    for finding in danger_checks.examine(skill):
        if finding.kind != DRAFTED and not (finding.kind in SPOKEN_OF and finding.where.startswith(f"{SKILL_FILE}:")):
            yield f"{finding}; a skill asks for nothing of this kind, leave it out"


def write(root: Path, draft: SkillDraft, by: str) -> Path:
    """Lay a draft below the campaign `root`; its folder. UserError if another of its name lies there."""
    target = root / FOLDER / draft.name
    if target.exists():
        raise UserError(f"{target}: another draft of that name is there; take it, or move it away")
    as_skill(draft, by).write(target)
    return target
