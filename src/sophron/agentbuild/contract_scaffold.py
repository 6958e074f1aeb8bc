"""A contract to start from, for a domain that has none: every file that people author, with what belongs into it."""

from pathlib import Path

from sophron.records import templates
from sophron.records.atomic import write_text
from sophron.records.errors import UserError
from sophron.records.package_data import resource

TEMPLATES = ("agentbuild", "templates", "contract")


def create(folder: Path, domain: str, author: str) -> list[str]:
    """Make the contract `folder` for a domain; the names of its files. UserError if there is something in it."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is not an empty folder; give the name of a new one")
    for name, value in (("domain", domain), ("author", author)):
        if not value.isprintable() or not value.strip() or any(sign in value for sign in "{}[]\":#'"):
            raise UserError(f"--{name}: {value!r} is no plain text; give words")
    made = []
    source = resource(*TEMPLATES)
    for path in sorted(path for path in source.rglob("*") if path.is_file()):
        name = path.relative_to(source).as_posix()
        write_text(folder / name, templates.render(path, domain=domain.strip(), author=author.strip()))
        made.append(name)
    return made
