"""The tasks of a folder, in either form, and those that come with Sophron."""

from __future__ import annotations

from pathlib import Path

from sophron.records.errors import UserError
from sophron.records.files import read_text, resource
from sophron.tasks import bench, harbor_folder, scifi_markdown
from sophron.tasks.harbor_folder import SETTINGS
from sophron.tasks.scifi_markdown import EXPECT, HEADINGS, TOP

SHIPPED = "example_tasks"


def shipped() -> Path:
    """Return the folder of the tasks that come with Sophron."""
    return resource(SHIPPED)


def find(path: Path) -> Path:
    """Return `path` if it is there, or the shipped task of that name; `path` as it is if there is neither."""
    if path.exists() or path.is_absolute() or ".." in path.parts:
        return path
    candidates = (path.with_name(f"{path.name}.md"), shipped() / path, shipped() / f"{path}.md")
    return next((one for one in candidates if one.exists()), path)


def tasks_of(collection: Path) -> dict[str, Path]:
    """Return the tasks below `collection` by name, sorted: folders of Harbor, and Markdown with an expectation.

    UserError if there is none.
    """
    harbor = {path.parent for path in collection.rglob(SETTINGS)}
    markdown = {path.parent for path in collection.rglob(TOP) if not _inside(path, harbor)}
    lone = {path for path in collection.rglob("*.md") if not _inside(path, harbor | markdown) and _is_task(path)}
    found = sorted({*harbor, *markdown, *lone})
    if not found:
        raise UserError(
            f"{collection}: holds no task; name a folder with {SETTINGS} or {TOP}, or one above such folders"
        )
    return {_name(path, collection): path for path in found}


def why_not(path: Path) -> str:
    """Return why a task cannot run on this machine, a sentence; empty if nothing is known against it."""
    if harbor_folder.is_folder_of_task(path):
        return bench.why_not(path)
    try:
        scifi_markdown.read(path)
    except UserError as refusal:
        return str(refusal)
    return ""


def _name(path: Path, collection: Path) -> str:
    if path == collection:
        return path.resolve().name
    plain = path if path.is_dir() else path.with_suffix("")
    return plain.relative_to(collection).as_posix()


def _inside(path: Path, folders: set[Path]) -> bool:
    return any(parent in folders for parent in path.parents)


def _is_task(path: Path) -> bool:
    """Whether a Markdown file has a heading for what is expected; other files of a folder are for people."""
    if not path.is_file():
        return False
    heads = (
        line.lstrip("#").strip().lower().rstrip(":") for line in read_text(path).splitlines() if line.startswith("## ")
    )
    return any(HEADINGS.get(head) == EXPECT for head in heads)
