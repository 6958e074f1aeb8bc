"""Pack what a stage file leaves into one archive, and take it out again."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

from sophron.records.errors import UserError

ARCHIVE_NAME = "left.tar"


def packed(folder: Path, archive: Path) -> Path:
    """`archive`, made of what is in a folder: equal files make equal bytes, whenever and by whom they were written."""
    with tarfile.open(archive, "w") as stream:
        for path in sorted(folder.iterdir()):
            stream.add(path, path.name, filter=_nobody)
    return archive


def _nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
    return member


def extracted(archive: Path, folder: Path) -> Path:
    """Return a new `folder` with what an archive holds; UserError for anything but files and folders inside.

    Filters of `tarfile` would do, but Python 3.11 has them only from 3.11.4 on.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tarfile.open(archive) as stream:
        for member in stream:
            target = (folder / member.name).resolve()
            if not (member.isdir() or member.isfile()) or not target.is_relative_to(folder.resolve()):
                raise UserError(f"{archive}: holds what no stage may leave ({member.name}); remove it and run again")
            if member.isfile():
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as copy:
                    shutil.copyfileobj(stream.extractfile(member) or io.BytesIO(), copy)
            else:
                target.mkdir(parents=True, exist_ok=True)
    return folder
