"""Start one of Parsl's own programs without the packages that it imports but does not use, and end it with its driver.

Run as `python -m snakemake_executor_plugin_parsl.lean_start MODULE ...`. The path of the stubs is in
`sys.path` alone, which Parsl's workers inherit from their pool; steps are started with the environment and have
everything.
"""

import os
import runpy
import signal
import sys
import threading
import time
from pathlib import Path

INTERCHANGE = "parsl.executors.high_throughput.interchange"
WORKERS = "parsl.executors.high_throughput.process_worker_pool"
LOOK_S = 1.0


def _follow(driver: int) -> None:
    """An interchange that outlives its driver would go on handing out the steps of a dead run."""
    while os.getppid() == driver:
        time.sleep(LOOK_S)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    del sys.argv[0]
    if sys.argv[0] == INTERCHANGE:
        threading.Thread(target=_follow, args=(int(sys.argv.pop()),), daemon=True).start()
    sys.path.insert(0, str(Path(__file__).with_name("import_stubs")))
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
