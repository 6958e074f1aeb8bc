"""The digest of the code that a plan was signed with: rules, schemas, library. Standard library only."""

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
SUFFIXES = {".py", ".smk", ".yaml", ".j2", ".lmp"}
FOLDERS = ("interfaces", "records", "campaign", "science", "sandbox", "cli", "schemas", "workflow")
ENTRY_NAMES = ("Snakefile",)


def _files() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((PACKAGE / folder).resolve().rglob("*")):
            if (path.suffix in SUFFIXES or path.name in ENTRY_NAMES) and path.is_file():
                yield path


@cache
def library_digest() -> str:
    """Hex sha256 over names and content of Sophron's rules, schemas and modules as installed."""
    sha = hashlib.sha256()
    for path in _files():
        content = path.read_bytes()
        sha.update(f"{path.parent.name}/{path.name}\0{len(content)}\0".encode())
        sha.update(content)
    return sha.hexdigest()


def code_digest(root: Path) -> str:
    """Digest of the library together with the campaign's own Snakefile and `agents/` folder, where it has them."""
    sha = hashlib.sha256(library_digest().encode())
    own = [root / "Snakefile", *sorted((root / "agents").rglob("*"))]
    for path in own:
        if path.is_file():
            sha.update(f"\0{path.relative_to(root)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return sha.hexdigest()
