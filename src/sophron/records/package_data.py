"""The data files installed with Sophron: workflow, schemas, profiles, environments, campaigns, configuration."""

from importlib.resources import files
from pathlib import Path


def resource(*parts: str) -> Path:
    """Return the path of an installed data file or folder, e.g. `resource("schemas", "campaign.schema.yaml")`."""
    return Path(str(files("sophron").joinpath(*parts)))
