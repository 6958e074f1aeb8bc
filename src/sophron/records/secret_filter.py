"""Which variables hold a key, by name or by the value's shape: one list for all who keep keys back or take them out."""

import re

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


def is_secret(name: str, value: str) -> bool:
    """Return whether a variable holds a key or leads to the ssh agent, by its name or the start of its value."""
    return bool(NAME.search(name) or name.upper() in SSH_AGENT or _BEGINNING.match(value))
