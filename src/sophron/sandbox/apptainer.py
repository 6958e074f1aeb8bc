"""The Apptainer backend: for clusters that offer containers but no user namespaces to bubblewrap."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from sophron.interfaces.sandbox import Ended, Grant, SandboxBackend
from sophron.records.errors import UserError
from sophron.sandbox import mounts, plain_process_limits

IMAGE = "SOPHRON_APPTAINER_IMAGE"
"""Environment variable that names the image: a .sif file, or a folder, with what programs need as their system."""


class Apptainer(SandboxBackend):
    """A container with nothing of this account but the grant: no home, no network, its own process and IPC space.

    The system inside is the image's, so a granted program must fit it. Limits are those of
    `plain_process_limits`: the kernel's for each process, and the totals of the process tree every 50 ms.
    """

    name = "apptainer"

    def missing(self) -> str | None:
        """Return one sentence that says what lacks: the program, or the image."""
        if shutil.which("apptainer") is None:
            return "the program apptainer is not on PATH; load its environment module, or ask the site for it"
        image = os.environ.get(IMAGE)
        if not image:
            return f"{IMAGE} is not set; let it name an image (.sif) with the system that programs need"
        return None if Path(image).exists() else f"{image}: there is no such image; correct {IMAGE}"

    def run(self, command: Sequence[str], grant: Grant, *, stdout: Path, stderr: Path) -> Ended:
        """Run `command` inside and wait. Raises UserError if apptainer or its image is missing."""
        if lack := self.missing():
            raise UserError(lack)
        # Values of variables go by the environment of apptainer: command lines can be read by other accounts.
        inside = {f"APPTAINERENV_{name}": value for name, value in grant.env.items()}
        environment = {"PATH": os.environ.get("PATH", os.defpath), **inside}
        with TemporaryDirectory(prefix="sophron-empty-") as empty:
            started = [*arguments(grant, Path(empty)), *command]
            return plain_process_limits.run(started, grant, environment, stdout, stderr)


def arguments(grant: Grant, empty: Path) -> list[str]:
    """Return the command line up to the image. UserError for a path that is missing or too much to grant.

    empty: a folder without anything, to put where something is hidden.
    """
    made = ["apptainer", "--silent", "exec", "--containall", "--cleanenv", "--no-home", "--no-eval", "--no-privs"]
    made += ["--no-mount", "hostfs,bind-paths", "--pid", "--ipc"]
    made += [] if grant.network else ["--net", "--network", "none"]
    for bind in sorted(mounts.granted(grant), key=lambda bind: (len(bind.source.parts), bind.writable)):
        mode = "rw" if bind.writable else "ro"
        for place in dict.fromkeys((bind.source, bind.asked)):
            made += ["--mount", f"type=bind,{_quoted('source', bind.source)},{_quoted('destination', place)},{mode}"]
    for bind in sorted(mounts.places(grant), key=lambda bind: len(bind.asked.parts)):
        mode = "rw" if bind.writable else "ro"
        made += ["--mount", f"type=bind,{_quoted('source', bind.source)},{_quoted('destination', bind.asked)},{mode}"]
    for folder in mounts.hidden(grant):
        made += ["--mount", f"type=bind,{_quoted('source', empty)},{_quoted('destination', folder)},ro"]
    for node in mounts.devices(grant):
        made += ["--mount", f"type=bind,{_quoted('source', node)},{_quoted('destination', node)}"]
    return [*made, "--pwd", grant.start or str(grant.workdir.resolve(strict=True)), os.environ[IMAGE]]


def _quoted(key: str, path: Path) -> str:
    """A field of `--mount`, which is a line of CSV: quoted, so that a comma in a path does not separate."""
    escaped = str(path).replace('"', '""')
    return f'"{key}={escaped}"'
