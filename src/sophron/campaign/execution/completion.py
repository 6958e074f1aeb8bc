"""Whether a campaign has nothing left to do, told without Snakemake: no file of it changed since it was done."""

import os
from collections.abc import Iterator
from pathlib import Path

from sophron.records import documents, events, files
from sophron.records.approvals import Approval
from sophron.records.digests import digest
from sophron.records.errors import UserError

NAME = Path("records") / "completion.json"
LEFT_OUT = {"records", "scratch", "logs", ".snakemake", "invalidated", "workflow-state.json", "progress.log", "init.sh"}
"""What runs and looks write, and what nothing is made of."""


def note(root: Path, approval: Approval) -> None:
    """Note that a whole run has just ended well."""
    files.write_json(root / NAME, _content(root, approval))


def stands(root: Path, approval: Approval) -> bool:
    """Return whether nothing changed since: no approval, event, result or file that a person keeps in the folder."""
    try:
        return bool(documents.load_json(root / NAME) == _content(root, approval))
    except UserError:  # it was never done, or a kill tore the note
        return False


def _content(root: Path, approval: Approval) -> dict[str, object]:
    happened = (root / events.FILE).stat().st_size if (root / events.FILE).exists() else 0
    return {"approval": approval.hash, "events": happened, "files": digest(sorted(_files(root)))}


def _files(root: Path) -> Iterator[list[str]]:
    """Path, size and time of change of each file: as much as Snakemake would look at."""
    for folder, inner, names in os.walk(root):
        at = Path(folder)
        if at == root:
            inner[:] = [name for name in inner if name not in LEFT_OUT]
        for name in names:
            if at != root or name not in LEFT_OUT:
                known = (at / name).lstat()
                yield [os.path.relpath(at / name, root), str(known.st_size), str(known.st_mtime_ns)]
