"""Rules of thumb of the agents that write a pipeline: its author, its critic, its Engineer.

The author designs nothing. The reference pipelines are found in the registry `sophron.pipelines` by the form of the
system, `particles` where host and guest are single particles, else `molecules`, and by the protocol that the campaign
begins with, where it names one: `molecules_double_decoupling`. The critic judges no code.
"""

import re
from difflib import SequenceMatcher, get_close_matches

from sophron.agents.rule_based.input_checks import given, mapping, objects, quoted, text, whole
from sophron.interfaces import UncheckedObject
from sophron.records import entry_points
from sophron.records.errors import UserError

GROUP = "sophron.pipelines"
GROWTH = 1.5
"""How many times the windows where overlap or samples lack; the usual remedy (10.1007/s10822-015-9840-9)."""


def author(inputs: UncheckedObject) -> UncheckedObject:
    """Write the first draft; then make the panel's edit if there is one, else add windows if sampling is the focus.

    Where neither is called for, the pipeline is returned as it was, for nothing says what to change.
    """
    previous = text(inputs.get("pipeline") or "", "the pipeline")
    if not previous:
        return _first(mapping(given(inputs, "task"), "task"))
    critiques = mapping(inputs.get("critiques") or {}, "critiques")
    edited = _apply_edit(previous, critiques)
    if edited:
        return {"reply": edited, "summary": "The edit that the panel proposed, and nothing else."}
    if _wants_windows(mapping(critiques.get("post") or {}, "the critique")):
        return _widen(previous, mapping(given(inputs, "task"), "task"))
    return {"reply": previous, "summary": "Nothing says what to change; the pipeline is the same."}


def _first(task: UncheckedObject) -> UncheckedObject:
    form, protocol = text(given(task, "form"), "form"), text(task.get("protocol") or "", "protocol")
    name = f"{form}_{protocol}" if protocol else form
    try:
        draft = entry_points.load(GROUP, name)
    except UserError as error:
        raise ValueError(f"there is no reference pipeline for {name} ({error})") from None
    return {"reply": draft(), "summary": f"Our reference pipeline for {name}."}


def _apply_edit(previous: str, critiques: UncheckedObject) -> str | None:
    """Make the first edit that can be made of those in the latest critique's last votes."""
    single = mapping(critiques.get("single") or {}, "critiques of single guests")
    for critique in (critiques.get("post"), *single.values(), critiques.get("pre")):
        rounds = objects(mapping(critique or {}, "a critique").get("rounds") or [], "rounds")
        for vote in rounds[-1].values() if rounds else ():
            edit = mapping(mapping(vote, "a vote").get("edit") or {}, "an edit")
            file, region, change = (text(edit.get(key, ""), key) for key in ("file", "region", "change"))
            head, opening, rest = previous.partition(f"FILE {file}\n")
            body, closing, tail = rest.partition("\nFILE ")
            if opening and region and body.count(region) == 1:
                return head + opening + body.replace(region, change) + closing + tail
    return None


def _wants_windows(critique: UncheckedObject) -> bool:
    """Whether sampling is the focus, or the path of windows is, which may stand in the file of preparation."""
    rounds = objects(critique.get("rounds") or [], "rounds")
    sampling = mapping(rounds[-1].get("sampling") or {}, "a vote") if rounds else {}
    concerns = objects(sampling.get("concerns") or [], "concerns")
    path = any(each.get("severity") == "high" and each.get("focus") == critique.get("focus") for each in concerns)
    return critique.get("focus") == "production" or (critique.get("focus") == "preparation" and path)


def _widen(previous: str, task: UncheckedObject) -> UncheckedObject:
    match = re.search(r"^03_production\.py windows=(\d+)$", previous, re.MULTILINE)
    windows = int(match[1]) if match else 0
    more = min(int(GROWTH * windows), whole(given(task, "most_windows"), "most_windows"))
    if more <= windows:
        return {"reply": previous, "summary": "More windows are not allowed, and nothing else says what to change."}
    reply = re.sub(r"(?m)^(03_production\.py windows=)\d+$", rf"\g<1>{more}", previous)
    return {"reply": reply, "summary": f"{more} windows instead of {windows}."}


def critic(inputs: UncheckedObject) -> UncheckedObject:
    """Return the draft."""
    draft = text(given(inputs, "draft"), "the draft")
    if not draft:
        raise ValueError("the draft is empty")
    return {"reply": draft, "summary": "A rule of thumb judges no code; the draft is the same."}


MODULES = {"np": "import numpy as np", "Path": "from pathlib import Path", "pd": "import pandas as pd"}
STANDARD = ("json", "math", "os", "sys", "re", "subprocess", "shutil", "time", "logging")
ALIKE_NAMES = 0.8
"""How alike a name and the misspelt one are, by difflib."""
FIRST_IMPORT = re.compile(r"^(?:import|from) (?!__future__)\S.*$", re.MULTILINE)


def engineer(inputs: UncheckedObject) -> UncheckedObject:
    """Import a name that is not defined; else take the name that Python suggests, or the nearest; else give up.

    Python says "name 'x' is not defined" and "Did you mean: 'y'?", the second not of what is used in a comprehension.
    Nothing else is guessed.
    """
    failure = mapping(given(inputs, "failure"), "failure")
    file, message = str(failure.get("file", "")), str(failure.get("said", ""))
    source = str(given(inputs, "pipeline")).partition(f"FILE {file}\n")[2].partition("\nFILE ")[0]
    for rule in (_import, _suggestion, _nearest):
        edit = rule(source, message)
        if edit:
            old, new, reason = edit
            return {
                "diagnosis": _sentence(message),
                "action": "edit",
                "edits": [{"file": file, "old": old, "new": new, "reason": reason}],
            }
    diagnosis = f"{_sentence(message)} No fix that this rule knows is for it."
    return {"diagnosis": diagnosis, "action": "give_up", "edits": []}


def _import(source: str, message: str) -> tuple[str, str, str] | None:
    match = re.search(r"name '(\w+)' is not defined", message)
    line = MODULES.get(match[1]) if match else None
    if match and match[1] in STANDARD:
        line = f"import {match[1]}"
    first = FIRST_IMPORT.search(source)
    if not line or not first or source.count(f"{first[0]}\n") != 1:
        return None
    return f"{first[0]}\n", f"{line}\n{first[0]}\n", "the name was never imported"


def _suggestion(source: str, message: str) -> tuple[str, str, str] | None:
    match = re.search(r"(?:name|attribute) '(\w+)'.*Did you mean: '(\w+)'", message)
    return _respell(source, match[1], match[2]) if match else None


def _nearest(source: str, message: str) -> tuple[str, str, str] | None:
    match = re.search(r"name '(\w+)' is not defined", message)
    if not match:
        return None
    words = sorted(set(re.findall(r"\b[A-Za-z_]\w*\b", source)) - {match[1]})
    near = get_close_matches(match[1], words, n=1, cutoff=ALIKE_NAMES)
    return _respell(source, match[1], near[0]) if near else None


def _respell(source: str, wrong: str, right: str) -> tuple[str, str, str] | None:
    lines = [line for line in source.splitlines() if re.search(rf"\b{wrong}\b", line)]
    if len(lines) != 1 or source.count(lines[0]) != 1:
        return None
    return lines[0], re.sub(rf"\b{wrong}\b", right, lines[0]), "a name was misspelt"


def _sentence(message: str) -> str:
    last = message.strip().splitlines()[-1:] or ["It ended without a word."]
    return quoted(last[0], 300) or "It ended without a word."


ALIKE_FILES = 0.9
"""Part of the lines that descent is told by."""
MOST_LINES = 4
"""Of one place, in either file."""


def source(pipeline: str, file: str) -> str:
    """Return text of one file of a reply; nothing if it has none."""
    return pipeline.partition(f"FILE {file}\n```python\n")[2].partition("\n```")[0]


def restored(file: str, pipeline: str) -> dict[str, str] | None:
    """Return the edit that makes `file` our own again; None if it is, or departs in more places than one."""
    lines = source(pipeline, file).splitlines()
    for name in entry_points.names(GROUP):
        edit = _only_place(lines, source(entry_points.load(GROUP, name)(), file).splitlines())
        if edit:
            return {"file": file, "region": edit[0], "change": edit[1]}
    return None


def _only_place(lines: list[str], ours: list[str]) -> tuple[str, str] | None:
    """Return the one place in which they differ, and ours, with as many lines before it as make it the only one."""
    matcher = SequenceMatcher(None, lines, ours, autojunk=False)
    places = [each[1:] for each in matcher.get_opcodes() if each[0] != "equal"]
    if len(places) != 1 or matcher.ratio() < ALIKE_FILES:
        return None
    first, last, begin, end = places[0]
    if max(last - first, end - begin) > MOST_LINES:
        return None
    whole = "\n".join(lines)
    while min(first, begin) > 0 and (first == last or begin == end or whole.count("\n".join(lines[first:last])) > 1):
        first, begin = first - 1, begin - 1
    return "\n".join(lines[first:last]), "\n".join(ours[begin:end])
