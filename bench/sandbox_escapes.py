"""Try every known way out of the sandbox; count what gets out, and what would have without it.

Run as: python bench/sandbox_escapes.py [--only WORD] [--no-controls]
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from record import record

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "toy"))

from escape_run import Trial
from escapes import ALL


def main() -> int:
    """Run all, write the record; 1 where one succeeded, or a control that should have did not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a name")
    parser.add_argument("--no-controls", action="store_true")
    args = parser.parse_args()
    chosen = [one for one in ALL if args.only in one.name]
    escaped, silent, refused, controlled = [], [], [], 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sophron-") as folder, Trial(Path(folder)) as trial:
        for one in chosen:
            if trial.sandboxed(one):
                escaped.append(one.name)
            if not args.no_controls and trial.controllable(one):
                controlled += 1
                if not trial.unconfined(one):
                    (refused if one.maybe else silent).append(one.name)
            sign = next(
                (sign for sign, names in (("ESCAPED", escaped), ("SILENT", silent)) if one.name in names), "held"
            )
            print(f"{sign:8}", one.name, *(trial.said.splitlines()[-1:] if sign != "held" else []))
    result = {
        "tried": len(chosen),
        "escaped": escaped,
        "controls_run": controlled,
        "controls_that_did_not_succeed": silent,
        "controls_that_this_machine_refuses": refused,
        "without_control": {one.name: one.control for one in chosen if one.control},
        "seconds": round(time.monotonic() - started, 1),
    }
    if not args.only:
        record("sandbox_escapes", result)
    print({key: value for key, value in result.items() if key != "without_control"})
    return 1 if escaped or silent else 0


if __name__ == "__main__":
    sys.exit(main())
