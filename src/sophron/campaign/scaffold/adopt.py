"""Adopt a workflow: a campaign of the kind workflow beside a Snakefile that is there."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sophron.campaign.planning import plan, snakemake_error
from sophron.campaign.scaffold.campaign_folder import TEMPLATES, campaign_id
from sophron.campaign.spec.spec import SPEC_NAME
from sophron.records import templates
from sophron.records.errors import UserError
from sophron.records.files import read_text, resource, write_text
from sophron.records.nearest_campaign import SNAKEFILES

FOLDER = "campaign"
KIND = "workflow"
LINES = """
import sophron
module sophron_gate:
    snakefile: sophron.HOST
    config: {{"campaign": "{folder}"}}
use rule * from sophron_gate as sophron_*
"""
OUTER = """\
# The workflow as it is, with its own default target, which `include:` would leave behind.
workflow.include("{snakefile}", overwrite_default_target=True)
"""
HAS_LINES = re.compile(r"^[^#\n]*\bsophron\.HOST\b", re.MULTILINE)


@dataclass(frozen=True)
class Adoption:
    """What was made. lines: what a person still has to add to the Snakefile, empty if nothing; notes: sentences."""

    folder: Path
    snakefile: Path
    lines: str
    notes: Sequence[str] = ()


def adopt(here: Path, snakefile: Path | None, arguments: Sequence[str], *, write: bool, outer: bool) -> Adoption:
    """Write `campaign/campaign.yaml` in the folder where Snakemake runs, and the lines if a person asks for it.

    UserError if there is a campaign and nothing to add, or no Snakefile, or one that Snakemake cannot read.
    """
    path, folder = _snakefile(here, snakefile), here / FOLDER
    called = folder / "Snakefile" if outer else path
    there, has_lines = (folder / SPEC_NAME).exists(), bool(HAS_LINES.search(read_text(path)))
    if there and (outer or has_lines or not write or (folder / "Snakefile").exists()):
        raise UserError(_is_there(folder, path, has_lines=has_lines or (folder / "Snakefile").exists()))
    if outer and has_lines:
        raise UserError(f"{path}: has the lines of the gate; remove them, or call sophron adopt without --outer")
    name = f"{folder.name}/{SPEC_NAME}"
    if there:
        notes = [f"{name} is there already and stays as it is."]
    else:
        _write_campaign(here, path, called, arguments)
        notes = [f"{name} is written: all rules of the workflow are one stage so far.", *_notes(here, folder)]
    lines = LINES.format(folder=FOLDER)
    if outer:
        write_text(called, OUTER.format(snakefile=os.path.relpath(path, folder)) + lines)
    elif write and not has_lines:
        _append(path, lines)
    return Adoption(folder, path, "" if write or outer or has_lines else lines, notes)


def _is_there(folder: Path, path: Path, *, has_lines: bool) -> str:
    add = "" if has_lines else f"; add the lines to {path.name}: sophron adopt --write"
    return f"{folder / SPEC_NAME}: is there already; edit it, or move it away to begin anew{add}"


def _snakefile(here: Path, given: Path | None) -> Path:
    for path in [given] if given else [here / name for name in SNAKEFILES]:
        if path.is_file():
            return path.absolute()
    raise UserError(f"{given or here}: there is no Snakefile; call it where Snakemake runs, or give one: --snakefile")


def _append(path: Path, lines: str) -> None:
    """Add to a person's own file: it stays the file it is, its mode and links too."""
    with path.open("a") as stream:
        stream.write(f"{'' if read_text(path).endswith(chr(10)) else chr(10)}\n{lines}")


def _write_campaign(here: Path, path: Path, called: Path, arguments: Sequence[str]) -> None:
    """Write campaign.yaml. A Snakefile that has the lines cannot be read without one, so there is one while it is."""
    folder = here / FOLDER
    runs_in = plan.workdir(folder, called)
    about = {
        "campaign": campaign_id(here, KIND),
        "snakefile": os.path.relpath(called, folder),
        "directory": "" if runs_in == here else os.path.relpath(here, folder),
        "arguments": json.dumps(list(arguments)),
    }
    new = not folder.exists()
    folder.mkdir(exist_ok=True)
    template = resource(*TEMPLATES) / "workflow.yaml.j2"
    try:
        write_text(folder / SPEC_NAME, templates.render(template, **about, rules='["all"]'))
        rules = json.dumps(_rules(here, path, arguments))
        write_text(folder / SPEC_NAME, templates.render(template, **about, rules=rules))
    except BaseException:
        (folder / SPEC_NAME).unlink(missing_ok=True)
        if new:
            folder.rmdir()
        raise
    if not (folder / ".gitignore").exists():
        shutil.copyfile(resource(*TEMPLATES) / "gitignore", folder / ".gitignore")


def _rules(here: Path, snakefile: Path, arguments: Sequence[str]) -> list[str]:
    """Names of the workflow's rules that do something, by Snakemake itself."""
    module = ["-m", "sophron.campaign.snakefile.list_rules", "--snakefile", str(snakefile), *arguments]
    done = subprocess.run(
        [sys.executable, *module], cwd=here, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        said = snakemake_error.cause(done.stderr)
        raise UserError(f"{said}; Snakemake cannot read this workflow: make snakemake -n work first")
    rules: dict[str, bool] = json.loads(done.stdout.splitlines()[-1])
    if unnamed := [name for name in rules if name.isdigit()]:
        raise UserError(f"{snakefile}: {len(unnamed)} of its rules have no name, which a plan lists them by; name them")
    if not any(rules.values()):
        raise UserError(f"{snakefile}: no rule of it does anything; give the workflow's own Snakefile: --snakefile")
    return [name for name, does_something in rules.items() if does_something]


def _notes(here: Path, folder: Path) -> list[str]:
    """What a person would be surprised by later."""
    notes = []
    if any((here / ".snakemake" / "metadata").glob("*")):
        notes.append(
            "This workflow has run already: what it made stays valid, but rules that you put under `holds` run once "
            "more, behind their stage."
        )
    if _git_ignores(folder / SPEC_NAME):
        notes.append(f"git ignores {folder.name}/{SPEC_NAME}, which is what you sign: see git check-ignore -v")
    return notes


def _git_ignores(path: Path) -> bool:
    try:
        done = subprocess.run(
            ["git", "check-ignore", "-q", path.name], cwd=path.parent, capture_output=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0
