"""How often dpdispatcher calls sbatch for 100 steps on a real Slurm: an array, and 20 steps a job.

Run as: python bench/submit_calls.py
"""

import sys
import tempfile
import time
from pathlib import Path

from queue_tools import SNAKEFILE, begin, queue
from record import record

COUNT = 100
MOST_CALLS = 5
FORMS = {
    "array": ["--dpdispatcher-batch-type", "SlurmJobArray"],
    "20_steps_a_job": ["--dpdispatcher-batch-type", "Slurm", "--dpdispatcher-group-size", "20"],
}


def main() -> int:
    """Run the steps in both forms, write the record; 1 where there are over MOST_CALLS calls or a step is missing."""
    result = {}
    for name, options in FORMS.items():
        with queue() as one, tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            (folder / "Snakefile").write_text(SNAKEFILE.format(count=COUNT, seconds=0))
            begun = time.perf_counter()
            code = begin(folder, one.env, "--executor", "dpdispatcher", *options).wait(timeout=2400)
            result[name] = {
                "submit_calls": one.called("sbatch"),
                "squeue_calls": one.called("squeue"),
                "steps_made": len(list((folder / "made").iterdir())),
                "steps_run": len((folder / "runs").read_text().split()),
                "wall_s": round(time.perf_counter() - begun, 1),
                "exit_code": code,
            }
        print(name, result[name], flush=True)
    record("submit_calls", {"steps": COUNT, "target_calls": MOST_CALLS, **result})
    good = all(one["submit_calls"] <= MOST_CALLS and one["steps_made"] == COUNT for one in result.values())
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
