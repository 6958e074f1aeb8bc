"""The digest of the code that a plan was signed with: rules, schemas, library. Standard library only."""

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
SUFFIXES = (".cif", ".py", ".smk", ".yaml", ".j2", ".lmp")
FOLDERS = (
    "interfaces",
    "records",
    "campaign",
    "science",
    "agents",
    "build",
    "debate",
    "sandbox",
    "cli",
    "schemas",
    "workflow",
)
ENTRY_NAMES = ("Snakefile",)


def _files(folder: Path) -> Iterator[str]:
    return _below(str(folder.resolve())) if folder.is_dir() else iter(())


def _below(folder: str) -> Iterator[str]:
    # Every step pays for this walk: `scandir` asks the system once a folder, and no Path is made of anything.
    with os.scandir(folder) as listed:
        entries = sorted(listed, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path)
        elif (entry.name.endswith(SUFFIXES) or entry.name in ENTRY_NAMES) and entry.is_file():
            yield entry.path


@cache
def library_digest() -> str:
    """Hex sha256 over names and content of Sophron's rules, schemas and modules as installed."""
    return _digest([path for folder in FOLDERS for path in _files(PACKAGE / folder)])


def _digest(paths: list[str]) -> str:
    sha = hashlib.sha256()
    for path in paths:
        with open(path, "rb", buffering=0) as stream:  # noqa: PTH123 - no Path, see `_below`
            content = stream.read()
        sha.update(f"{'/'.join(path.rsplit('/', 2)[1:])}\0{len(content)}\0".encode())
        sha.update(content)
    return sha.hexdigest()


def code_digest(root: Path, kind_folder: str | None = None) -> str:
    """Digest of the library together with the campaign's own Snakefile and `agents/` folder, where it has them.

    Markdown below `agents/` is left out: what an agent is, is signed as its own digest, and an edit is an amendment.

    kind_folder: where a kind of another distribution keeps its rules, schemas and modules.
    """
    sha = hashlib.sha256(library_digest().encode())
    if kind_folder:
        sha.update(f"\0{_digest(list(_files(Path(kind_folder))))}".encode())
    own = [root / "Snakefile", *sorted((root / "agents").rglob("*"))]
    for path in own:
        if path.is_file() and path.suffix != ".md":
            sha.update(f"\0{path.relative_to(root)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return sha.hexdigest()
