"""Rule of thumb of a pipeline's author: our reference pipeline, then one change a trial, as critiques name it.

It designs nothing. The reference pipelines are found in the registry `sophron.pipelines` by the form of the system,
`particles` where host and guest are single particles, else `molecules`, and by the protocol that the campaign begins
with, where it names one: `molecules_double_decoupling`.
"""

import re

from sophron.agents.rule_based.input_checks import given, mapping, objects, text, whole
from sophron.interfaces import UncheckedObject
from sophron.records import entry_points
from sophron.records.errors import UserError

GROUP = "sophron.pipelines"
GROWTH = 1.5
"""How many times the windows where overlap or samples lack; the usual remedy (10.1007/s10822-015-9840-9)."""


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """The first draft; then the panel's surgical edit if there is one, else more windows where sampling is the focus.

    Where neither is called for, the pipeline is returned as it was, for nothing says what to change.
    """
    previous = text(inputs.get("pipeline") or "", "the pipeline")
    if not previous:
        return _first(mapping(given(inputs, "task"), "task"))
    critiques = mapping(inputs.get("critiques") or {}, "critiques")
    edited = _edited(previous, critiques)
    if edited:
        return {"reply": edited, "summary": "The edit that the panel proposed, and nothing else."}
    if mapping(critiques.get("post") or {}, "the critique").get("focus") == "production":
        return _widened(previous, mapping(given(inputs, "task"), "task"))
    return {"reply": previous, "summary": "Nothing says what to change; the pipeline is the same."}


def _first(task: UncheckedObject) -> UncheckedObject:
    form, protocol = text(given(task, "form"), "form"), text(task.get("protocol") or "", "protocol")
    name = f"{form}_{protocol}" if protocol else form
    try:
        draft = entry_points.load(GROUP, name)
    except UserError as error:
        raise ValueError(f"there is no reference pipeline for {name} ({error})") from None
    return {"reply": draft(), "summary": f"Our reference pipeline for {name}."}


def _edited(previous: str, critiques: UncheckedObject) -> str | None:
    """The latest critique's last votes are looked through in order; the first edit that can be made is."""
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


def _widened(previous: str, task: UncheckedObject) -> UncheckedObject:
    found = re.search(r"^03_production\.py windows=(\d+)$", previous, re.MULTILINE)
    windows = int(found[1]) if found else 0
    more = min(int(GROWTH * windows), whole(given(task, "most_windows"), "most_windows"))
    if more <= windows:
        return {"reply": previous, "summary": "More windows are not allowed, and nothing else says what to change."}
    reply = re.sub(r"(?m)^(03_production\.py windows=)\d+$", rf"\g<1>{more}", previous)
    return {"reply": reply, "summary": f"{more} windows instead of {windows}."}
