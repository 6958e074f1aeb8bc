"""Where files of Sophron lie: data installed with it, and an account's folders for configuration and state (XDG)."""

from importlib.resources import files
from pathlib import Path

from sophron.records.errors import UserError


def resource(*parts: str) -> Path:
    """Return the path of an installed data file or folder, e.g. `resource("schemas", "campaign.schema.yaml")`."""
    return Path(str(files("sophron").joinpath(*parts)))


def user_configuration(program: str = "sophron") -> Path:
    """Return the folder of a program's configuration; UserError for an account without a home."""
    from platformdirs import user_config_path

    try:
        return user_config_path(program, appauthor=False)
    except RuntimeError:
        raise UserError("this account has no home folder; set HOME, or XDG_CONFIG_HOME, to a folder of yours") from None


def user_state() -> Path:
    """Return the folder of what Sophron remembers beyond one campaign; UserError for an account without a home."""
    from platformdirs import user_state_path

    try:
        return user_state_path("sophron", appauthor=False)
    except RuntimeError:
        raise UserError("this account has no home folder; set HOME, or XDG_STATE_HOME, to a folder of yours") from None
