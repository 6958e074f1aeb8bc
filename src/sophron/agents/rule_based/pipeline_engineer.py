"""Rule of thumb of a pipeline's Engineer: a handful of Python's own messages, each with the mechanical fix it names."""

import re
from difflib import get_close_matches

from sophron.agents.rule_based.input_checks import given, mapping, quoted
from sophron.interfaces import UncheckedObject

MODULES = {"np": "import numpy as np", "Path": "from pathlib import Path", "pd": "import pandas as pd"}
STANDARD = ("json", "math", "os", "sys", "re", "subprocess", "shutil", "time", "logging")
ALIKE = 0.8
"""How alike a name and the misspelt one are, by difflib."""
FIRST_IMPORT = re.compile(r"^(?:import|from) (?!__future__)\S.*$", re.MULTILINE)


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """An import for a name that is not defined; a name that Python itself suggests, or the nearest; else it gives up.

    Python says "name 'x' is not defined" and "Did you mean: 'y'?", the second not of what is used in a comprehension.
    Nothing else is guessed.
    """
    failure = mapping(given(inputs, "failure"), "failure")
    file, said = str(failure.get("file", "")), str(failure.get("said", ""))
    source = str(given(inputs, "pipeline")).partition(f"FILE {file}\n")[2].partition("\nFILE ")[0]
    for rule in (_import, _suggestion, _nearest):
        edit = rule(source, said)
        if edit:
            old, new, reason = edit
            return {
                "diagnosis": _sentence(said),
                "action": "edit",
                "edits": [{"file": file, "old": old, "new": new, "reason": reason}],
            }
    diagnosis = f"{_sentence(said)} No fix that this rule knows is for it."
    return {"diagnosis": diagnosis, "action": "give_up", "edits": []}


def _import(source: str, said: str) -> tuple[str, str, str] | None:
    found = re.search(r"name '(\w+)' is not defined", said)
    line = MODULES.get(found[1]) if found else None
    if found and found[1] in STANDARD:
        line = f"import {found[1]}"
    first = FIRST_IMPORT.search(source)
    if not line or not first or source.count(f"{first[0]}\n") != 1:
        return None
    return f"{first[0]}\n", f"{line}\n{first[0]}\n", "the name was never imported"


def _suggestion(source: str, said: str) -> tuple[str, str, str] | None:
    found = re.search(r"(?:name|attribute) '(\w+)'.*Did you mean: '(\w+)'", said)
    return _respelt(source, found[1], found[2]) if found else None


def _nearest(source: str, said: str) -> tuple[str, str, str] | None:
    found = re.search(r"name '(\w+)' is not defined", said)
    if not found:
        return None
    words = sorted(set(re.findall(r"\b[A-Za-z_]\w*\b", source)) - {found[1]})
    near = get_close_matches(found[1], words, n=1, cutoff=ALIKE)
    return _respelt(source, found[1], near[0]) if near else None


def _respelt(source: str, wrong: str, right: str) -> tuple[str, str, str] | None:
    lines = [line for line in source.splitlines() if re.search(rf"\b{wrong}\b", line)]
    if len(lines) != 1 or source.count(lines[0]) != 1:
        return None
    return lines[0], re.sub(rf"\b{wrong}\b", right, lines[0]), "a name was misspelt"


def _sentence(said: str) -> str:
    last = said.strip().splitlines()[-1:] or ["It ended without a word."]
    return quoted(last[0], 300) or "It ended without a word."
