"""Whether public tasks are sound here: each one's own solution passes its tests, and the work of nobody fails them.

The tasks are not part of this repository. Run as:
python bench/public_tasks.py FOLDER --source 'owner/name@commit, licence' --jobs-dir jobs
Each row names its source; rows of tasks from earlier runs are kept.
"""

import argparse
import sys
import time
from pathlib import Path

from record import RESULTS, record

from sophron.records.files import load_json
from sophron.tasks import bench

KEPT = ("task", "agent", "refused", "attempts", "passed", "rewards", "stubs", "faults")


def main() -> int:
    """Run the collection, write the record; 1 if a solution fails, or nobody's work passes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--source", required=True)
    parser.add_argument("--jobs-dir", type=Path, required=True)
    parser.add_argument("--cores", type=int, default=2)
    args = parser.parse_args()
    begun = time.monotonic()
    job = bench.job_of(args.collection, ["oracle", "nop"])
    bench.run(job, args.jobs_dir.absolute(), args.cores)
    found = load_json(args.jobs_dir / bench.RESULTS)
    rows = [
        {
            "source": args.source,
            **{key: row[key] for key in KEPT},
            "wall_time_s": round(row["wall_time_s"], 1),
            "digest": digest,
        }
        for row in found["rows"]
        for digest in [job.tasks[row["task"]].digest]
    ]
    unsound = bench.unsound(rows)
    rows = [*kept({row["task"] for row in rows}), *rows]
    result = {"rows": rows, "totals": bench.totals(rows), "unsound": bench.unsound(rows)}
    record("public_tasks", {**result, "wall_time_s": round(time.monotonic() - begun, 1)})
    return int(bool(unsound))


def kept(tasks: set[str]) -> list[dict]:
    """Rows of earlier runs, of other tasks than these."""
    path = RESULTS / "public_tasks.json"
    earlier = load_json(path)["result"] if path.exists() else {"rows": []}
    rows = [{"source": earlier.get("source"), **row} for row in earlier["rows"]]
    return [row for row in rows if row["task"] not in tasks]


if __name__ == "__main__":
    sys.exit(main())
