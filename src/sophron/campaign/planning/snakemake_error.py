"""Why a Snakemake process failed, as one sentence from what it wrote on standard error."""

import re
from itertools import dropwhile

LONGEST = 300
IN_FILE = re.compile(r'^(?P<what>\w+) in file "?(?P<file>[^"\n]+?)"?, line (?P<line>\d+):\n(?P<said>.+)', re.MULTILINE)
UNREADABLE = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)\s+(?P<what>SyntaxError): (?P<said>.+)')
"""A syntax error on which Snakemake's own report of it stumbles."""


def cause(said: str) -> str:
    """Return our own sentence, file and line of a Snakefile with what is wrong there, or a traceback's exception."""
    lines = [line for line in said.splitlines() if line.strip()]
    if ours := [line.removeprefix("sophron: ") for line in lines if line.startswith("sophron: ")]:
        return ours[-1]
    if found := IN_FILE.search(said) or UNREADABLE.search(said):
        return f"{found['file']}:{found['line']}: {found['what']}: {found['said'].strip().rstrip(':.')}"
    last = max((at for at, line in enumerate(lines) if line.startswith("  File ")), default=len(lines) - 4)
    text = dropwhile(lambda line: line.startswith("    "), lines[last + 1 :])
    return " ".join(" ".join(text).split())[:LONGEST] or "it gave no reason"
