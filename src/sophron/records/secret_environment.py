"""Keys stay with the driver: no job inherits one from its environment, and local steps are given them from memory.

Executors hand the driver's whole environment to a queue, which keeps it in its spool: `sbatch --export=ALL` does.
The way to the user's ssh agent goes for good: on the same machine a step could have it sign an approval.
"""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

from sophron.records.secret_filter import SSH_AGENT

VARIABLE = "SOPHRON_KEYS"
"""Where a local step finds them: a path into the memory of the driver, which leads nowhere on another machine."""

# Fewer than `secret_filter` knows: what only schedulers and storage plugins read (SLURM_JWT) the driver itself needs.
KEY_NAME = re.compile(r"API_?KEY$|AUTH_TOKEN$|PASSPHRASE$", re.IGNORECASE)
PRIVATE_KEY = "PRIVATE KEY-----"


def withhold(names: Iterable[str] = ()) -> None:
    """Move all keys from this process's environment into its memory, and forget the ssh agent.

    names: variables that hold a key in any case. The memory is an anonymous file of this process; it is gone with it,
    and only its user may open it.
    """
    for name in SSH_AGENT:
        os.environ.pop(name, None)
    always = set(names)
    found = {name: value for name, value in os.environ.items() if name in always or _is_key(name, value)}
    if not found:
        return
    descriptor = os.memfd_create("sophron-keys")
    with os.fdopen(os.dup(descriptor), "w", encoding="utf-8") as stream:
        json.dump(found, stream)
    for name in found:
        del os.environ[name]
    os.environ[VARIABLE] = f"/proc/{os.getpid()}/fd/{descriptor}"


def recall() -> None:
    """Put the keys of the driver that started this step into its environment; nothing if there are none."""
    place = os.environ.pop(VARIABLE, None)
    if place is None:
        return
    try:
        found = json.loads(Path(place).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # another machine, or a driver that has ended
        return
    os.environ.update(found)


def _is_key(name: str, value: str) -> bool:
    return bool(KEY_NAME.search(name)) or PRIVATE_KEY in value
