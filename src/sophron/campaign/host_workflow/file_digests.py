"""Digests of files that a host workflow reads and no rule makes; those of big ones are remembered by their stat."""

import hashlib
import os
from pathlib import Path

from sophron.campaign.host_workflow import script_files
from sophron.records.digests import file_digest
from sophron.records.files import FileLock, read_json, write_json

LARGEST = 1 << 20
"""Bytes of a source file above which its size counts, and not its content, unless it is named under `also`."""
MOST_FILES = 1000
REMEMBERED = Path("records") / "host_digests.json"


class FileDigests:
    """What counts of files. The full digest of a big one is read once, until its size, time or inode is another."""

    def __init__(self, root: Path) -> None:
        """root: the campaign's folder, which remembers the digests."""
        self._path = root / REMEMBERED
        self._known: dict[str, list[str]] | None = None

    def full(self, path: Path) -> str:
        """Return the hex sha256 of the content."""
        about = path.stat()
        if about.st_size <= LARGEST:
            return hashlib.sha256(path.read_bytes()).hexdigest()
        stamp = f"{about.st_size} {about.st_mtime_ns} {about.st_ino} {about.st_ctime_ns}"
        name = os.path.realpath(path)
        if self._known is None:
            self._known = read_json(self._path) if self._path.is_file() else {}
        if self._known.get(name, [""])[0] != stamp:
            self._remember(name, [stamp, file_digest(path)])
        return self._known[name][1]

    def _remember(self, name: str, found: list[str]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self._path.with_suffix(".lock")):
            self._known = {**(read_json(self._path) if self._path.is_file() else {}), name: found}
            write_json(self._path, self._known)

    def of_source(self, path: Path, ignored: script_files.Ignored) -> str:
        """Return what counts of a source: content, above a megabyte the size; with the imports of a script.

        Of a folder its files count, if they are many by name and size alone.
        """
        if path.is_dir():
            inner = sorted(one for one in path.rglob("*") if one.is_file())
            whole = len(inner) <= MOST_FILES
            rows = [
                f"{one.relative_to(path)} {self.of_source(one, ignored) if whole else one.stat().st_size}"
                for one in inner
            ]
            return hashlib.sha256("\n".join(rows).encode()).hexdigest()
        if (size := path.stat().st_size) > LARGEST:
            return f"size {size}"
        content = path.read_bytes()
        if path.suffix in script_files.CODE:
            files = script_files.closure(path, content.decode(errors="replace"), ignored)
            content = "\0".join([files.pop(path), *sorted(files.values())]).encode() if len(files) > 1 else content
        return hashlib.sha256(content).hexdigest()
