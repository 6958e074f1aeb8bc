"""The installed kinds of campaign as a tool: a kind, one of its stages, or an example, by its name."""

from sophron.agents.tools.safe_open import OutsideError
from sophron.campaign.scaffold import kind_catalogue
from sophron.interfaces.model_backend import Tool
from sophron.records.errors import UserError

TOOL = Tool(
    "look_up_kind",
    "A kind of campaign in full with one example (`viscosity`), a stage of a kind with the keys of its definition and "
    "its result (`viscosity/shear`), or an example campaign as its file (`kg-melt-viscosity`), by its name.",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 100}},
    },
)


def answer(name: str) -> str:
    """Return what has this name. OutsideError if nothing has."""
    try:
        return kind_catalogue.look_up(name)
    except UserError as unknown:
        raise OutsideError(str(unknown)) from None
