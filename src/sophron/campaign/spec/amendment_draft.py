"""A drafted amendment on disk, and the spec file that a planning process looks at."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path

from sophron.campaign.spec.spec import SPEC_NAME
from sophron.records import documents
from sophron.records.approvals import FOLDER
from sophron.records.errors import UserError
from sophron.records.files import read_text, write_json, write_text

DRAFT_NAME = "draft.json"
DRAFT_SPEC_NAME = "draft.campaign.yaml"
CANDIDATE_NAME = "candidate.campaign.yaml"
VARIABLE = "SOPHRON_DRAFT"


@dataclass(frozen=True)
class Draft:
    """An amendment that nobody has signed yet. base: hash of the approval it amends; text: the amended spec."""

    base: str
    version: int
    changes: list[str]
    rationale: str
    invalidated_stages: list[str]
    text: str

    def write(self, root: Path) -> None:
        """Put the draft into the approvals folder, in place of an older one."""
        write_text(root / FOLDER / DRAFT_SPEC_NAME, self.text)
        plain = asdict(self)
        del plain["text"]
        write_json(root / FOLDER / DRAFT_NAME, plain)


def read(root: Path) -> Draft | None:
    """Return the draft of a campaign, if there is one."""
    path = root / FOLDER / DRAFT_NAME
    if not path.is_file():
        return None
    content = documents.load_json(path)
    try:
        return Draft(text=read_text(root / FOLDER / DRAFT_SPEC_NAME), **content)
    except (TypeError, UserError):
        raise UserError(f"{path}: is not a draft any more; remove it and draft again: sophron amend") from None


def drop(root: Path) -> None:
    """Forget the draft (after it was signed, or when its author withdraws it)."""
    for name in (DRAFT_NAME, DRAFT_SPEC_NAME):
        (root / FOLDER / name).unlink(missing_ok=True)


def spec_file(root: Path) -> Path:
    """Return `campaign.yaml`, or the drafted spec in a process that plans one (steps refuse what it would run)."""
    return root / FOLDER / Path(os.environ[VARIABLE]).name if is_planned() else root / SPEC_NAME


def is_planned() -> bool:
    """Return whether this process plans a spec that is not in force; the variable holds its file's name."""
    return bool(os.environ.get(VARIABLE))
