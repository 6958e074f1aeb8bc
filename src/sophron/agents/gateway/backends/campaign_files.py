"""A backend that answers from files of the campaign."""

from pathlib import Path

from sophron.interfaces.model import ModelBackend


class CampaignBackend(ModelBackend):
    """The gateway sets `root`, the campaign's folder, before it asks."""

    root: Path = Path()
