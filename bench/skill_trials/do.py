#!/usr/bin/env python3
"""Run a shell command in the folder of a task, and note it: do TASK COMMAND."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

BIN = "{bin}"
here = Path(__file__).absolute().parent
task, command = sys.argv[1:]
if not (here / task / "task.md").is_file():
    sys.exit(f"{task}: the first word is the name of a task")
begun = time.monotonic()
env = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", OMP_NUM_THREADS="1")
done = subprocess.run(
    ["bash", "-c", command],
    cwd=here / task,
    env=env,
    stdin=subprocess.DEVNULL,
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    check=False,
)
sys.stdout.buffer.write(done.stdout)
about = {"task": task, "command": command, "read": len(done.stdout), "exit": done.returncode}
with (here / "log.jsonl").open("a") as stream:
    print(json.dumps(about | {"seconds": round(time.monotonic() - begun, 2)}), file=stream)
sys.exit(done.returncode)
