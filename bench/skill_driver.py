"""What a coding agent with the installed skills of Sophron did, from a question in words to the gate and the answer.

A reader worked in a folder with `.claude/skills` (`sophron skill install`) and `sophron` on PATH; all that it ran went
through a command that notes it, and a person answered and signed by files. Run afterwards as:
python bench/skill_driver.py FOLDER CAMPAIGN        (its log.jsonl and messages/; the campaign that it made)
"""

import argparse
import json
import sys
from pathlib import Path

from record import record

from sophron.records.files import read_json_lines


def phase(lines: list[dict]) -> dict:
    """Return the commands of a phase, those that failed, and tokens of four bytes that were read and written."""
    return {
        "commands": len(lines),
        "failed": sum(line["exit"] != 0 for line in lines),
        "tokens_read": sum(line["read"] for line in lines) // 4,
        "tokens_written": sum(len(line["command"].encode()) for line in lines) // 4,
        "asked_documentation": sum("sophron ask" in line["command"] for line in lines),
        "tried_to_sign": sum("sophron approve" in line["command"].partition("<<")[0] for line in lines),
    }


def main() -> int:
    """Split the log at the messages to the person, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("campaign", type=Path)
    args = parser.parse_args()
    lines = list(read_json_lines(args.folder / "log.jsonl")[0])
    marks = [
        place for place, line in enumerate(lines) if "cat messages/" in line["command"] and "person" in line["command"]
    ]
    gate, signed = marks[:2]  # the first question, and the line to sign
    log = (args.campaign / "progress.log").read_text().splitlines()
    result = {
        "to_the_first_question": phase(lines[:gate]),
        "to_the_waiting_gate": phase(lines[gate:signed]),
        "after_the_signature": phase(lines[signed:]),
        "messages": len(list((args.folder / "messages").glob("*.agent.md"))),
        "steps_done": sum(line.endswith(" done") for line in log),
        "answer": (args.folder / "answer.txt").read_text() if (args.folder / "answer.txt").is_file() else None,
    }
    print(json.dumps(result, indent=1))
    record("skill_driver", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
