"""A folder with a Snakefile, run by real Snakemake through the dpdispatcher executor."""

import os
import subprocess
import sys
import time
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src"
PATIENCE_S = 900  # for what a busy machine may take; how long it took is no part of a test


class Workflow:
    """A folder with a Snakefile, run by real Snakemake with this executor."""

    def __init__(self, folder, env=None):
        self.folder = folder
        self.drivers = []
        # dpdispatcher's scripts are login shells: what a tester's profile does is no part of a test.
        own = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(SOURCES), "HOME": str(folder)}
        self.env = os.environ | own | (env or {})

    def write(self, text, name="Snakefile"):
        (self.folder / name).write_text(text)

    def line(self, *options, batch_type="Shell"):
        fixed = ["--jobs", "40", "--seconds-between-status-checks", "1", "--latency-wait", "2", "--nolock"]
        kind = ["--dpdispatcher-batch-type", batch_type] if batch_type else []
        return [sys.executable, "-m", "snakemake", "--executor", "dpdispatcher", *kind, *fixed, *options]

    def run(self, *options, batch_type="Shell", timeout=PATIENCE_S):
        line = self.line(*options, batch_type=batch_type)
        return subprocess.run(
            line, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=timeout, check=False
        )

    def begin(self, *options, batch_type="Shell"):
        log = (self.folder / "driver.log").open("w")
        line = self.line(*options, batch_type=batch_type)
        # Whoever runs the tests in the background ignores SIGINT, and so would all that they start.
        line = ["env", "--default-signal=INT", *line]
        driver = subprocess.Popen(line, cwd=self.folder, env=self.env, stdout=log, stderr=log)
        self.drivers.append(driver)
        return driver

    def end(self):
        for driver in self.drivers:
            driver.kill()
            driver.wait()

    def wait_for(self, condition, seconds=PATIENCE_S):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, (self.folder / "driver.log").read_text()
            time.sleep(0.1)

    def runs(self, name="runs"):
        """What rules wrote into a file, a line each time they ran."""
        path = self.folder / name
        return path.read_text().split() if path.exists() else []

    @property
    def records(self):
        return self.folder / ".snakemake" / "dpdispatcher"

    def spool(self):
        """The text of all that was written for jobs."""
        return "\n".join(path.read_text(errors="replace") for path in self.records.rglob("*") if path.is_file())
