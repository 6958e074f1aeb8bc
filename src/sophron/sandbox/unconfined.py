"""No sandbox: a program runs as this account. Only for whoever asks for it by name, and it says so each time."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from sophron.interfaces.sandbox import Ended, Grant, SandboxBackend
from sophron.records.errors import shown
from sophron.sandbox import plain_process_limits

_NOT_FOUND = 127


class Unconfined(SandboxBackend):
    """Grants everything this account has: files, network, keys. What it does hold to is listed here, and no more.

    The environment is the grant's. Address space, CPU seconds and file size of each process are bounded by the kernel;
    wall time, and the totals of the process tree, are looked at every 50 ms. The process group dies with the caller's
    thread and at the end; a program that makes itself a daemon outlives it.
    """

    name = "none"

    def missing(self) -> str | None:
        """None: there is nothing to lack."""
        return None

    def run(self, command: Sequence[str], grant: Grant, *, stdout: Path, stderr: Path) -> Ended:
        """Run `command` as this account, after a warning on this process's standard error."""
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
