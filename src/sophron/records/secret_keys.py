"""Secret keys: known by the name or the shape of a value, kept back from jobs and taken out of texts by this one list.

Keys stay with the driver: no job inherits one from its environment, and local steps are given them from memory.
Executors hand the driver's whole environment to a queue, which keeps it in its spool: `sbatch --export=ALL` does.
The way to the user's ssh agent goes for good: on the same machine a step could have it sign an approval.
"""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

WORDS = "KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|JWT"
"""In the names of variables that hold keys; also an extended regular expression for Bash."""
NAME = re.compile(WORDS, re.IGNORECASE)
SSH_AGENT = ("SSH_AUTH_SOCK", "SSH_AGENT_PID")

# How keys of well-known services begin, whatever the variable is called, and how they go on.
_KEYS = {
    "sk-": r"[A-Za-z0-9_-]{16,}",  # Anthropic, OpenAI and servers that imitate them
    "gh[opsur]_": r"[A-Za-z0-9]{20,}",
    "github_pat_": r"\w{20,}",
    "(?:AKIA|ASIA)": r"[0-9A-Z]{16}(?![0-9A-Za-z])",  # AWS access key ids
    "glpat-": r"[A-Za-z0-9_-]{20,}",
    "AIza": r"[0-9A-Za-z_-]{35}",
    "hf_": r"[A-Za-z0-9]{30,}",
    "xox": r"[abeoprs]-[A-Za-z0-9-]{10,}",
    "eyJ": r"[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # JSON web tokens
}
_PRIVATE_KEY = "-----BEGIN [A-Z0-9 ]*PRIVATE KEY"
_BEGINNING = re.compile("|".join([*_KEYS, _PRIVATE_KEY]))
SHAPES = re.compile(
    f"(?<![A-Za-z0-9])(?:{'|'.join(begin + rest for begin, rest in _KEYS.items())})"
    rf"|{_PRIVATE_KEY}-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
"""A whole key within a text."""
HINTS = ("sk-", "gh", "github_pat_", "glpat-", "AKIA", "ASIA", "AIza", "hf_", "xox", "eyJ", "PRIVATE KEY")
"""Each shape holds one of these; looking for them first is many times faster than the pattern."""


VARIABLE = "SOPHRON_KEYS"
"""Where a local step finds them: a path into the memory of the driver, which leads nowhere on another machine."""

# Fewer than `is_secret` knows: what only schedulers and storage plugins read (SLURM_JWT) the driver itself needs.
KEY_NAME = re.compile(r"API_?KEY$|AUTH_TOKEN$|PASSPHRASE$", re.IGNORECASE)
PRIVATE_KEY = "PRIVATE KEY-----"


def is_secret(name: str, value: str) -> bool:
    """Return whether a variable holds a key or leads to the ssh agent, by its name or the start of its value."""
    return bool(NAME.search(name) or name.upper() in SSH_AGENT or _BEGINNING.match(value))


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
