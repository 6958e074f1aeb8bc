"""Adopt a workflow: a campaign of the kind workflow beside a Snakefile that is there."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sophron.campaign.scaffold.campaign_folder import TEMPLATES, campaign_id
from sophron.campaign.spec.spec import SPEC_NAME
from sophron.records import templates
from sophron.records.errors import UserError
from sophron.records.files import read_text, resource, write_text

FOLDER = "campaign"
SNAKEFILES = ("Snakefile", "snakefile", "workflow/Snakefile", "workflow/snakefile")
"""Where Snakemake looks, in its order."""
LINES = """
import sophron
module sophron_gate:
    snakefile: sophron.HOST
    config: {{"campaign": "{folder}"}}
use rule * from sophron_gate as sophron_*
"""


@dataclass(frozen=True)
class Adoption:
    """What was made. lines: what a person still has to add to the Snakefile, empty if nothing."""

    folder: Path
    snakefile: Path
    lines: str


def adopt(here: Path, snakefile: Path | None, arguments: Sequence[str], *, write: bool, outer: bool) -> Adoption:
    """Write `campaign/campaign.yaml` in the folder where Snakemake runs. UserError if there is one, or no Snakefile."""
    path, folder = _snakefile(here, snakefile), here / FOLDER
    if (folder / SPEC_NAME).exists():
        raise UserError(f"{folder / SPEC_NAME}: is there already; edit it, or move it away to begin anew")
    rules = _rules(here, path)
    text = templates.render(
        resource(*TEMPLATES) / "workflow.yaml.j2",
        campaign=campaign_id(here),
        snakefile=os.path.relpath(path, folder),
        arguments=json.dumps(list(arguments)),
        rules=json.dumps(rules),
    )
    folder.mkdir(exist_ok=True)
    write_text(folder / SPEC_NAME, text)
    lines = LINES.format(folder=FOLDER)
    if outer:
        write_text(folder / "Snakefile", f'include: "{os.path.relpath(path, folder)}"\n{lines}')
    elif write and lines.strip() not in read_text(path):
        write_text(path, f"{read_text(path).rstrip()}\n\n{lines}")
    return Adoption(folder, path, "" if write or outer else lines)


def _snakefile(here: Path, given: Path | None) -> Path:
    for path in [given] if given else [here / name for name in SNAKEFILES]:
        if path.is_file():
            return path.absolute()
    raise UserError(f"{given or here}: there is no Snakefile; call it where Snakemake runs, or give one: --snakefile")


def _rules(here: Path, snakefile: Path) -> list[str]:
    """Names of the workflow's rules, by Snakemake itself."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(snakefile), "--list-rules", "--quiet", "all"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    names = [line.strip() for line in done.stdout.splitlines() if line.strip().replace("_", "a").isalnum()]
    if done.returncode != 0 or not names:
        said = " ".join(done.stderr.split())[-300:] or "it names no rule"
        raise UserError(f"{snakefile}: Snakemake cannot list its rules: {said}")
    return names
