"""The campaign that a person means by a folder: the one in it, or, at the root of a host workflow, the one below."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from sophron.records import SPEC_NAME
from sophron.records.errors import UserError

STATE_NAME = "workflow-state.json"
"""Stands alone in a copy of a campaign's three files."""
MOST_NAMED = 5
HOST = re.compile(r"^workflow:.*(?:\n .*)*", re.MULTILINE)
HOST_KEY = re.compile(r"[ {](snakefile|directory): *([^\s#,}]+)")
SNAKEFILES = ("Snakefile", "snakefile", "workflow/Snakefile", "workflow/snakefile")
"""Where Snakemake looks, in its order."""


def nearest_campaign(folder: Path) -> Path:
    """Return `folder` if it is a campaign, else the only campaign directly below it, else `folder` again.

    Raises UserError for several.
    """
    if any((folder / name).is_file() for name in (SPEC_NAME, STATE_NAME)):
        return folder
    below = sorted(path.parent for path in folder.glob(f"*/{SPEC_NAME}"))
    if len(below) > 1:
        names = ", ".join(path.name for path in below[:MOST_NAMED]) + ", ..." * (len(below) > MOST_NAMED)
        raise UserError(f"{folder}: holds several campaigns ({names}); name one, for example: {below[0]}")
    return below[0] if below else folder


@dataclass(frozen=True)
class HostCall:
    """How the workflow is run that a campaign gates. directory: where, absolute."""

    command: str
    directory: Path


def host_call(root: Path) -> HostCall | None:
    """Return how a person runs the host workflow of the campaign at `root`; None if it gates none."""
    path = root / SPEC_NAME
    text = path.read_text(errors="replace") if path.is_file() else ""
    about = HOST.search(text)  # not parsed: it may be edited just now
    if not about and not re.search(r"^kind: *workflow\b", text, re.MULTILINE):
        return None
    found = dict(HOST_KEY.findall(about[0] if about else ""))
    snakefile = (root / found.get("snakefile", "../Snakefile")).resolve()
    folder = snakefile.parent.parent if snakefile.parent.name == "workflow" else snakefile.parent
    directory = (root / found["directory"]).resolve() if "directory" in found else folder
    usual = snakefile in [(directory / name).resolve() for name in SNAKEFILES]
    return HostCall("snakemake" if usual else f"snakemake -s {os.path.relpath(snakefile, directory)}", directory)
