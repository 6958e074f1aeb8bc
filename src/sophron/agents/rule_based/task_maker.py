"""Rule of thumb of the task maker: its three questions, then the person's own words as the task.

It understands nothing and adds nothing; which sentences bind, the grammar says as of any task.
"""

import re

from sophron.agents.rule_based.input_checks import given, objects, text
from sophron.interfaces import UncheckedObject

QUESTIONS = {
    1: "What is given: which files, what is in them, in which units, and what must not be changed?",
    2: "What is to be left in the end: which files, under which names, with which keys, columns and units?",
    3: "How does one see that it was done? Write one sentence a line, in the forms of docs/explanation/tasks.md, "
    "such as: `fit.json` exists with keys mean, sigma; mean in [2.4, 2.6]",
}
CLOSING = {"close", "stop", "quit"}
MARK = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
SENTENCES = re.compile(r"\n+|(?<=[.;!?])\s+(?=[A-Z`])")
LONGEST = {"title": 100, "sentence": 600, "section": 8000}
MOST_SENTENCES = 40


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Put the three questions, one a turn, and then the answers where they belong, word for word."""
    request = text(given(inputs, "request"), "the request")
    turns = objects(given(inputs, "turns"), "turns")
    said = [text(turn.get("answered"), "an answer") for turn in turns]
    if said and said[-1].strip().lower() in CLOSING:
        return _turn("closed", "You do not want to go on.")
    if len(said) < len(QUESTIONS):
        number = len(said) + 1
        return _turn("ask", f"{QUESTIONS[number]}", question=number)
    sentences = [plain for line in SENTENCES.split(said[2]) if (plain := _sentence(line))]
    if not sentences:
        return _turn("ask", QUESTIONS[3], question=3)
    draft = {
        "title": " ".join(request.split())[: LONGEST["title"]] or "Task",
        "context": _section(said[0]),
        "todo": _section(f"{request}\n\n{said[1]}"),
        "expectation": sentences[:MOST_SENTENCES],
    }
    note = (
        "No model wrote this task: it is your own words, each answer in its place. A model (--agents) would say more."
    )
    return _turn("draft", note, draft=draft)


def _turn(status: str, words: str, **more: object) -> UncheckedObject:
    return {"status": status, "question": None, "text": words, "draft": None, "chosen": [], **more}


def _section(words: str) -> str:
    """Return words as they are, but for marks of headings, which would begin another section."""
    return re.sub(r"^#+", "", words, flags=re.MULTILINE).strip()[: LONGEST["section"]]


def _sentence(line: str) -> str:
    return " ".join(MARK.sub("", line).split())[: LONGEST["sentence"]].rstrip(" ;")
