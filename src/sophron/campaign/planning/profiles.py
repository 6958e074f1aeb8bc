"""The profiles that Sophron ships, and the folder where Snakemake looks for a profile by its name."""

import filecmp
import shutil
from pathlib import Path

from sophron.records.errors import UserError
from sophron.records.files import move, resource, user_configuration

OF_CAMPAIGN = "default"  # goes into each campaign, beside its Snakefile, and is not installed for a user


def names() -> list[str]:
    """Return the names of the profiles that may be installed."""
    folders = (path for path in resource("profiles").iterdir() if path.is_dir() and path.name != OF_CAMPAIGN)
    return sorted(path.name for path in folders if any(path.glob("*.yaml")))


def user_folder() -> Path:
    """Return where Snakemake looks for the user's own profiles."""
    return user_configuration("snakemake")


def install(name: str, folder: Path) -> tuple[Path, Path | None]:
    """Copy the profile into `folder`; its place there, and where an edited one of that name was moved to.

    One that is the same already stays as it is. UserError if Sophron ships no such profile.
    """
    if name not in names():
        raise UserError(f'Sophron ships no profile "{name}"; it ships {", ".join(names())}')
    source, target, aside = resource("profiles", name), folder / name, None
    if target.exists() or target.is_symlink():
        if _same(source, target):
            return target, None
        aside = _free(target)
        move(target, aside)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    for script in target.glob("*.py"):  # an installer of wheels drops mode bits
        script.chmod(0o755)
    return target, aside


def provide(name: str) -> Path | None:
    """Install a profile for the user if there is none of that name; its place where that was done."""
    folder = user_folder()
    if (folder / name).exists():
        return None
    return install(name, folder)[0]


def _same(source: Path, target: Path) -> bool:
    files = [path.name for path in source.iterdir() if path.is_file()]
    return target.is_dir() and filecmp.cmpfiles(source, target, files, shallow=False)[0] == files


def _free(target: Path) -> Path:
    number = 1
    while (found := target.with_name(f"{target.name}.{number}")).exists():
        number += 1
    return found
