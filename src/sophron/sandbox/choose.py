"""Choose the sandbox of a program: the one that was named, or bubblewrap; never none by accident."""

from sophron.interfaces.sandbox import SandboxBackend
from sophron.records import entry_points
from sophron.records.errors import UserError
from sophron.sandbox.unconfined import Unconfined

GROUP = "sophron.sandboxes"
DEFAULT = "bubblewrap"


def choose(name: str | None = None, *, allow_none: bool = False) -> SandboxBackend:
    """Return the backend called `name` (default: bubblewrap), checked to work on this machine.

    "none" is not in the registry, so that nothing that looks through it comes upon it; it is given only with
    `allow_none`, which stands for a flag that somebody typed. Nothing is ever chosen in another's place.
    Raises UserError if the name is unknown, or the backend lacks something here.
    """
    if name == Unconfined.name:
        if not allow_none:
            raise UserError('the sandbox "none" gives a program all rights of this account; it wants an explicit flag')
        return Unconfined()
    made: SandboxBackend = entry_points.load(GROUP, name or DEFAULT)()
    if lack := made.missing():
        others = ", ".join(other for other in entry_points.names(GROUP) if other != made.name)
        raise UserError(
            f'the sandbox "{made.name}" does not work here: {lack}' + (f"; or choose {others}" if others else "")
        )
    return made
