"""init.sh: what a fresh shell needs to go on with a campaign (Superscientist, appendix B.3)."""

import shlex
import sys
from pathlib import Path

from sophron.campaign.state.progress_log import plain
from sophron.records import files, templates
from sophron.records.paths import resource

NAME = "init.sh"


def render(campaign: str, prefix: str) -> str:
    """Return the script for the Python installation at `prefix`."""
    path = resource("campaign", "templates", "init.sh.j2")
    return templates.render(path, campaign=plain(campaign), prefix=shlex.quote(prefix))


def write(root: Path, campaign: str) -> None:
    """Put init.sh into the campaign, for the Python that runs now; an equal one is left alone."""
    path, text = root / NAME, render(campaign, sys.prefix)
    if not path.exists() or files.read_bytes(path) != text.encode():
        files.write_text(path, text)
        path.chmod(path.stat().st_mode | 0o111)
