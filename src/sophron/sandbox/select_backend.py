"""Choose the sandbox of a program: the one that was named, or bubblewrap; never none by accident."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from sophron.interfaces.sandbox import Ended, Grant, SandboxBackend
from sophron.records import entry_points
from sophron.records.errors import UserError, shown
from sophron.sandbox import plain_process_limits

GROUP = "sophron.sandboxes"
DEFAULT = "bubblewrap"


def unchecked() -> SandboxBackend:
    """Return the default backend for whoever runs no program; it may not work on this machine."""
    made: SandboxBackend = entry_points.load(GROUP, DEFAULT)()
    return made


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


_NOT_FOUND = 127


class Unconfined(SandboxBackend):
    """No sandbox, only for whoever asks for it by name, and it says so each time.

    Grants everything this account has: files, network, keys. What it does hold to is listed here, and no more.

    The environment is the grant's. Address space, CPU seconds and file size of each process are bounded by the kernel;
    wall time, and the totals of the process tree, are looked at every 50 ms. The process group dies with the caller's
    thread and at the end; a program that makes itself a daemon outlives it.
    """

    name = "none"

    def missing(self) -> str | None:
        """None: there is nothing to lack."""
        return None

    def run(self, command: Sequence[str], grant: Grant, *, stdout: Path, stderr: Path) -> Ended:
        """Run `command` as this account, after a warning on this process's standard error.

        UserError for paths inside: without a sandbox there is no inside.
        """
        if grant.places or grant.start:
            raise UserError(
                f'the sandbox "none" has no {shown(next(iter(grant.places), grant.start))}: choose bubblewrap'
            )
        print(
            f"sophron: WARNING: NO SANDBOX: this runs with all rights of this account: {shown(shlex.join(command))}",
            file=sys.stderr,
            flush=True,
        )
        try:
            return plain_process_limits.run(command, grant, grant.env, stdout, stderr)
        except (FileNotFoundError, PermissionError) as error:
            stderr.write_text(f"{command[0]}: {error.strerror}\n", encoding="utf-8")
            return Ended(_NOT_FOUND)
