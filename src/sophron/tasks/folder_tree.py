"""A folder as a tree of regular files: its digests, and a copy of it without links, devices or sockets."""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
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


def pack(folder: Path, archive: Path) -> None:
    """Write the regular files and folders of a tree into a tar file; equal trees give equal bytes."""
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as packed:
        for path in sorted(folder.rglob("*")):
            about = tarfile.TarInfo(str(path.relative_to(folder)))
            kind = path.lstat().st_mode
            if stat.S_ISDIR(kind):
                about.type, about.mode = tarfile.DIRTYPE, 0o755
                packed.addfile(about)
            elif stat.S_ISREG(kind):
                about.size, about.mode = path.stat().st_size, stat.S_IMODE(kind) & 0o777  # tests look at modes too
                with path.open("rb") as stream:
                    packed.addfile(about, stream)


def unpack(archive: Path, folder: Path, most_bytes: int) -> None:
    """Unpack what `pack` wrote into a new folder. UserError for an archive that is damaged, or larger than it may be.

    Links, devices and paths that lead out of the folder are refused, whoever wrote them.
    """
    folder.mkdir(parents=True)
    try:
        with tarfile.open(archive) as packed:
            members = packed.getmembers()
            wrong = next((one.name for one in members if not (one.isreg() or one.isdir())), "")
            if wrong or sum(one.size for one in members) > most_bytes or len(members) > MOST_FILES:
                reason = f"{shown(wrong)} is not a file" if wrong else "it is larger than it may be"
                raise UserError(f"{archive}: cannot be unpacked ({reason}); let its step run again")
            packed.extractall(folder, members, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise UserError(f"{archive}: cannot be unpacked ({shown(str(error))}); let its step run again") from None
