"""`sophron ask`: find the passages of the documentation that answer a question."""

import argparse

HELP = "find the passages of the documentation that answer a question"
EXAMPLES = """\
examples:
  sophron ask "how do I change a signed value?"
  sophron ask --most 1 plateau of Green-Kubo
Nothing but the words of the question and of the pages counts; no model is asked. Exit code: 0 there is a passage,
1 there is none.
"""
MOST_LINES = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("question", nargs="+", help="words of the question")
    parser.add_argument("--most", type=int, default=3, metavar="N", help="most passages to show (3)")


def run(args: argparse.Namespace) -> int:
    """Print the best passages with their page and heading."""
    from sophron.records import doc_passages

    found = doc_passages.search(" ".join(args.question), args.most)
    for passage in found:
        lines = passage.text.splitlines()
        more = len(lines) - MOST_LINES
        print(f"{passage.page}: {passage.heading}\n")
        print("\n".join(f"    {line}" for line in lines[:MOST_LINES]))
        print(f"    ({more} more lines)\n" if more > 0 else "")
    if not found:
        print("No page has any of these words; sophron --help lists the verbs.")
    return 0 if found else 1
