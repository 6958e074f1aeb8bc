"""`sophron ask`: passages of the documentation that answer a question; a model, if one is named, answers from them."""

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sophron.cli import _dialogue

if TYPE_CHECKING:
    from sophron.records.doc_passages import Passage

HELP = "answer a question from the documentation: its passages, or a model that quotes them"
EXAMPLES = """\
examples:
  sophron ask "how do I change a signed value?"
  sophron ask --most 1 plateau of Green-Kubo
  sophron ask --agents anthropic "may two people sign?"     a model answers; each quotation is looked up on its page
Without --agents nothing but the words of the question and of the pages counts, and nobody is asked. Exit code: 0 there
is a passage, or an answer; 1 there is none; 2 an error.
"""
MOST_LINES = 16
PAGES, EACH = 5, 3
"""Of what a model is told: pages, and passages of each."""
RULES = "heuristic"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("question", nargs="+", help="words of the question")
    parser.add_argument("--most", type=int, default=3, metavar="N", help="most passages to show (3)")
    _dialogue.add_backend(parser)


def run(args: argparse.Namespace) -> int:
    """Print the best passages with their page and heading, or what a model makes of them."""
    from sophron.records import doc_passages

    question = " ".join(args.question)
    found = doc_passages.search(question, args.most)
    if not found:
        print("No page has any of these words; sophron --help lists the verbs.")
        return 1
    if args.agents and args.agents != RULES:
        return _answer(question, doc_passages.search(question, PAGES, EACH), args.agents)
    for passage in found:
        lines = passage.text.splitlines()
        more = len(lines) - MOST_LINES
        print(f"{passage.page}: {passage.heading}\n")
        print("\n".join(f"    {line}" for line in lines[:MOST_LINES]))
        print(f"    ({more} more lines)\n" if more > 0 else "")
    return 0


def _answer(question: str, passages: "list[Passage]", agents: str) -> int:
    """Ask a model; its steps are kept in the user's state folder, so that the same question is asked once."""
    from sophron.records.digests import digest
    from sophron.records.files import user_state
    from sophron.records.typed_json import to_json

    root, step = user_state() / "ask", f"ask-{digest(question)[:12]}"
    inputs = {"question": question, "passages": [to_json(one) for one in passages]}
    answer = _dialogue.ask_agent(root, "ask", inputs, step=step, target=root / f"{step}.json", override=agents)
    _print(answer)
    return int(answer["status"] == "absent")


def _print(answer: Mapping[str, Any]) -> None:
    from sophron.records import sanitize

    _dialogue.say_suspicious(answer)
    print("\n".join(sanitize.lines(answer["text"])) + "\n")
    for cited in answer["citations"]:
        print(f'  {cited["page"]}: "{sanitize.one_line(cited["quote"])}"')
