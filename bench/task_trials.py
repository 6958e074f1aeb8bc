"""Blind trials of workers at tasks: what campaigns came to in which a reader answered for the model.

    python bench/task_trials.py CAMPAIGN...

A task whose rounds did not come to their end is left out and named.
"""

import argparse
import json
import sys
from pathlib import Path

from record import record

from sophron.campaign.spec import spec
from sophron.campaign.spec.spec import SPEC_NAME
from sophron.kinds.task import task_table
from sophron.tasks import bench

KEPT = ("task", "attempts", "passed", "rewards", "rounds", "judged", "calls", "tokens", "dollars", "faults")


def rows_of(root: Path) -> list[dict]:
    """Return a row for each task of a campaign."""
    rows = task_table.rows_of(root, spec.load(root / SPEC_NAME))
    return [{"campaign": root.name, **row} for row in rows]


def main() -> int:
    """Gather and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaigns", type=Path, nargs="+")
    found = [row for root in parser.parse_args().campaigns for row in rows_of(root.absolute())]
    ended = [row for row in found if not row["unfinished"]]
    kept = [{"campaign": row["campaign"], **{key: row[key] for key in KEPT}} for row in ended]
    for row in kept:
        row["dollars"] = round(row["dollars"], 3)
    lost = [f"{row['campaign']}: {row['task']}" for row in found if row["unfinished"]]
    print(json.dumps(kept, indent=1))
    record("task_trials", {"rows": kept, "totals": bench.totals(ended), "not_ended": lost})
    return 0


if __name__ == "__main__":
    sys.exit(main())
