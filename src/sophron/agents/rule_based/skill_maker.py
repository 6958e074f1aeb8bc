"""Rule of thumb of the skill maker: what workers remembered, which checks failed, what ran in the attempt that was met.

It understands nothing, so it makes no script and gives no reason; it puts a record in order for a person to edit.
"""

import re
from collections.abc import Iterator

from sophron.agents.rule_based.input_checks import given, listed, objects, text
from sophron.interfaces import UncheckedObject

MOST_COMMANDS, LONGEST = 20, 200
_HEADING = re.compile(r"^#+ .*$", re.MULTILINE)


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Return notes on a task, or that its record holds none."""
    attempts = objects(given(inputs, "attempts"), "attempts")
    remembered = [line for line in text(given(inputs, "memory"), "memory").splitlines() if line.startswith("- ")]
    met = next((one for one in attempts if one.get("met") is True), None)
    failed = {
        str(check): number for number, one in enumerate(attempts, 1) for check in listed(one.get("failed"), "failed")
    }
    if not remembered and not failed:
        return _nothing("Nothing was remembered and no check failed: the record teaches nothing.")
    evidence = [_rests(line, len(attempts)) for line in remembered]
    evidence += [_rests(check, number) for check, number in failed.items()]
    task = " ".join(_HEADING.sub("", text(given(inputs, "task"), "the task")).split())
    commands = list(_commands(inputs, met))
    evidence += [_rests(command, attempt, call) for attempt, call, command in commands]
    parts = [f"# Notes on a task\n\nAttempts: {len(attempts)}; met: {'yes' if met else 'no'}. No model wrote this."]
    parts += ["## Remembered\n\n" + "\n".join(remembered)] if remembered else []
    parts += ["## Checks that failed\n\n" + "\n".join(f"- {_line(check)}" for check in failed)] if failed else []
    if commands:
        parts.append("## What ran in the attempt that was met\n\n" + "\n".join(f"    {one}" for _, _, one in commands))
    return {
        "status": "made",
        "reason": "No model wrote this: it is the record put in order. Edit it before you take it.",
        "name": "task-notes",
        "description": f"Notes of earlier attempts at a task. Use when a task such as this is worked on: {task}"[:600],
        "text": "\n\n".join(parts),
        "files": [],
        "evidence": evidence[:40],
        "suspicious_text": [],
    }


def _nothing(reason: str) -> UncheckedObject:
    empty = {"name": "", "description": "", "text": "", "files": [], "evidence": [], "suspicious_text": []}
    return {"status": "nothing", "reason": reason, **empty}


def _rests(says: str, attempt: int, call: int | None = None) -> UncheckedObject:
    return {"says": _line(says.removeprefix("- ")), "attempt": attempt, "call": call}


def _line(words: str) -> str:
    return " ".join(words.split())[:LONGEST]


def _commands(inputs: UncheckedObject, met: UncheckedObject | None) -> Iterator[tuple[int, int, str]]:
    """Yield attempt, number and line of commands that ended well, in the attempt that was met."""
    calls = objects(given(inputs, "calls"), "calls")
    mine = [one for one in calls if met is not None and one.get("attempt") == met.get("attempt")]
    ran = [one for one in mine if one.get("tool") == "task_shell" and one.get("failed") is False]
    for one in ran[:MOST_COMMANDS]:
        attempt, call = one.get("attempt"), one.get("call")
        if isinstance(attempt, int) and isinstance(call, int) and (command := _line(str(one.get("did", "")))):
            yield attempt, call, command
