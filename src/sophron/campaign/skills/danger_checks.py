"""What a person should see of a stranger's skill before it is let in: what its text and scripts ask for.

None of this protects a campaign; the sandbox does, which has no network, no keys and one writable folder, and the
signed digest, which no edit survives. It says beforehand what would be stopped there, and what a text tries to talk an
agent into.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sophron.campaign.skills.skill_folder import SKILL_FILE, Skill
from sophron.records import sanitize
from sophron.records.secret_keys import WORDS

LONGEST_BODY = 500
"""Lines; the format's own advice."""
DRAFTED, DRAFTED_BY = "drafted", "drafted-by"
"""Kind of finding of a skill that an agent drafted, and the key of its metadata that says which."""


@dataclass(frozen=True)
class Finding:
    """One thing to look at. where: `file:line`; kind: of `KINDS`, `format`, or DRAFTED; text: the line."""

    where: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.kind}: {self.text}"


_HOME_KEYS = r"(\.ssh|\.aws|\.netrc|\.gnupg|\.kube|\.docker|\.config/gcloud|id_rsa|id_ed25519)\b"
KINDS = {
    "network": re.compile(
        r"\b(requests|urllib3?|httpx|aiohttp|socket|http\.client|ftplib|smtplib|paramiko|websockets?)\b(?=\.|\s+import|\s*$)"
        r"|^\s*(from|import)\s+(requests|urllib3?|httpx|aiohttp|socket|http|ftplib|smtplib|paramiko)\b"
        r"|\b(curl|wget|nc|scp|rsync|ssh)\s+[-\w]*[^|]*[:/.]"
        r"|\bgit\s+clone\b|\b(urlopen|urlretrieve|MPRester)\b|\bfetch\("
    ),
    "installs": re.compile(
        r"\b((uv|conda|mamba|micromamba|npm|npx|apt|apt-get|brew)\s+\w|pip3?\s+install\b)"
        r"|/releases/download/|https?://\S+\.(zip|7z|exe|msi|dmg|pkg|deb|rpm|sh|ps1|bat)\b"
    ),
    "keys": re.compile(rf"\b[A-Z0-9_]*_({WORDS})\b|\bAPI_?KEY\b|{_HOME_KEYS}|\bprintenv\b|\bos\.environ\b(?!\[|\.get)"),
    "writes outside": re.compile(
        r"""(?:open|write_text|write_bytes|mkdir|rmtree|remove|unlink|copy\w*|move|Path|>>?|tee)\s*\(?\s*['"]?"""
        r"""(?:/(?!dev/null|skills/|usr/bin/env)\w|~|\$HOME|\.\./)"""
        r"|\bPath\.home\(\)|expanduser|\brm\s+-\w*r\w*\s+[/~$]|\b(sudo|chmod\s+\+s|chown|crontab|systemctl)\b"
    ),
    "hides code": re.compile(
        r"\b(b64decode|codecs\.decode|marshal\.loads|pickle\.loads?|exec\(|eval\(|__import__\(|fromhex\()"
    ),
    "pipes into a shell": re.compile(
        r"\|\s*(sudo\s+)?(ba|z|da)?sh\b(?!\s*\|)|\bbase64\s+(-[dD]\b|--decode)|\b(iex|Invoke-Expression)\b|\$\(\s*curl\b"
    ),
    "runs at load": re.compile(r"!`[^`]+`|^```!"),
    "signs": re.compile(
        r"\bsophron\s+(approve|signer)\b(?!.{0,80}\b(person|never|not)\b)"
        r"|\b(auto[- ]?approve|sign (it|the plan) (yourself|for))",
        re.IGNORECASE,
    ),
    "gives orders": re.compile(
        r"\b(ignore|disregard|forget|override)\b.{0,40}\b(previous|prior|above|earlier|other|system|all|any|your)\b.{0,30}"
        r"\b(instructions?|prompts?|rules|messages|guidelines)\b|\byou are now\b"
        r"|\bdo not (tell|mention|inform|show)\b.{0,30}\b(user|person|human|reviewer)\b"
        r"|\b(user|person|human|reviewer)\b.{0,20}\bmust not (know|see)\b",
        re.IGNORECASE,
    ),
}
"""Kind of finding -> what speaks of it in a line."""
CODE_ONLY = ("writes outside", "hides code")
"""Looked for in scripts alone: a text that speaks of paths or of pickles asks for nothing."""
TEXT_ONLY = ("runs at load", "signs", "gives orders")
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_CODE = (".py", ".sh", ".bash", ".pl", ".js", ".ts", ".r", ".jl", ".ps1", ".smk")
_MAGIC = (
    b"\x7fELF",
    b"MZ",
    b"\xca\xfe\xba\xbe",
    b"\xcf\xfa\xed\xfe",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x80\x04",
    b"\x80\x05",
)


def examine(skill: Skill) -> list[Finding]:
    """Return what a person should see of a skill, file by file, line by line."""
    found = list(_of_format(skill))
    for name, content in skill.files.items():
        found += _of_file(name, content)
    return found


def kinds(found: Iterable[Finding]) -> str:
    """Return how many findings there are of each kind, for one line; empty if there are none."""
    counts = Counter(finding.kind for finding in found)
    return ", ".join(f"{kind} ({number})" for kind, number in sorted(counts.items()))


def _of_format(skill: Skill) -> Iterator[Finding]:
    lines = skill.body.count("\n")
    if lines > LONGEST_BODY:
        yield Finding(SKILL_FILE, "format", f"{lines} lines; the format advises at most {LONGEST_BODY}")
    if by := dict(skill.front.get("metadata", {})).get(DRAFTED_BY):
        yield Finding(SKILL_FILE, DRAFTED, f"by {sanitize.one_line(str(by), 200)}; read it whole")


def _of_file(name: str, content: bytes) -> Iterator[Finding]:
    if content.startswith(_MAGIC) or name.endswith(
        (".pyc", ".so", ".pkl", ".pickle", ".exe", ".dll", ".dylib", ".jar")
    ):
        yield Finding(name, "hides code", "a program, archive or pickle, which nobody can read")
        return
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return  # a picture or data: no interpreter runs it, and no agent is shown it
    code = name.lower().endswith(_CODE) or content.startswith(b"#!")
    for number, line in enumerate(text.split("\n"), 1):
        for kind, pattern in KINDS.items():
            if kind in (TEXT_ONLY if code else CODE_ONLY):
                continue
            if pattern.search(line):
                yield Finding(f"{name}:{number}", kind, sanitize.one_line(line, 120))
        if sanitize.hides(line.removeprefix("\ufeff").replace("\ufe0f", "").rstrip("\r")):
            yield Finding(f"{name}:{number}", "hidden text", sanitize.escape(line, 120))
    if not code and name.endswith(".md"):
        for comment in _COMMENT.finditer(text):
            number = text.count("\n", 0, comment.start()) + 1
            yield Finding(f"{name}:{number}", "hidden text", f"a comment: {sanitize.one_line(comment[1], 100)}")
