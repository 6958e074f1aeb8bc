"""A folder as a tree of regular files: its digests, and a copy of it without links, devices or sockets."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from sophron.records.digests import file_digest
from sophron.records.errors import UserError, shown

MOST_FILES = 100_000


def digests(folder: Path) -> dict[str, str]:
    """Return path below `folder` -> hex sha256 of its content, sorted.

    UserError for what has no content to sign: a link that leads out of the folder or to nothing, a socket, a device.
    """
    top = folder.resolve()
    return {name: file_digest(_checked(top, name)) for name in sorted(names(top))}


def names(folder: Path) -> Iterator[str]:
    """Yield the path of everything below `folder` that is not a folder, links to folders included."""
    count = 0
    for path, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(path) / name).is_symlink()]
        for name in (*files, *links):
            count += 1
            if count > MOST_FILES:
                raise UserError(f"{folder}: holds more than {MOST_FILES} files; keep data of a task in few large files")
            yield str((Path(path) / name).relative_to(folder))


def _checked(top: Path, name: str) -> Path:
    path = top / name
    if path.is_symlink():
        target = path.resolve()
        if not target.is_relative_to(top):
            raise UserError(f"{path}: is a symlink that leads out of the task; replace it by what it points to")
        if not target.is_file():
            raise UserError(f"{path}: is a symlink to {shown(str(path.readlink()))}, not to a file; copy it")
    elif not stat.S_ISREG(path.lstat().st_mode):
        raise UserError(f"{path}: is not a plain file (a FIFO, socket or device); remove it")
    return path


def freeze(source: Path, target: Path) -> list[str]:
    """Copy the regular files of `source` into the folder `target`; the paths that were left out, sorted.

    Links are left out, wherever they lead, and so is what is not a file: what an agent leaves must not choose what
    a test sees. Modes are kept, owners and times are not needed.
    """
    left_out: list[str] = []
    target.mkdir(parents=True, exist_ok=True)
    for path, folders, files in os.walk(source):
        here = Path(path)
        inside = target / here.relative_to(source)
        for name in list(folders):
            if (here / name).is_symlink():
                folders.remove(name)
                left_out.append(str((here / name).relative_to(source)))
            else:
                (inside / name).mkdir(exist_ok=True)
        for name in files:
            if stat.S_ISREG((here / name).lstat().st_mode):
                shutil.copy2(here / name, inside / name, follow_symlinks=False)
            else:
                left_out.append(str((here / name).relative_to(source)))
    return sorted(left_out)
