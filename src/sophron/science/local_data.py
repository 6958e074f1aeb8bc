"""The folder `data` of a campaign: a step takes what lies there before it downloads anything."""

from __future__ import annotations

from pathlib import Path

from sophron.records import SPEC_NAME

FOLDER = "data"


def folder(workdir: Path) -> Path:
    """Return the folder `data` of the campaign in whose scratch `workdir` lies.

    Below `workdir` where it lies in none.
    """
    return next((one for one in workdir.parents if (one / SPEC_NAME).is_file()), workdir) / FOLDER
