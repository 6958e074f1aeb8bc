"""Snakemake without a second of imports at each start: a fork of a process that has them behind it.

What runs is `python -m snakemake` in a process of its own, with the folder, environment and words that were asked for;
neither Sophron nor a plugin is imported before the fork. A test of what Python imports starts one itself.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

SERVER = Path(__file__).parent / "warm" / "snakemake"
_one_at_a_time = threading.Lock()


@functools.cache
def _server() -> subprocess.Popen:
    """The process that forks; it ends with this one, whose pipe it reads."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, str(SERVER)]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)


def run(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess:
    """Run Snakemake in `folder`; output and errors together in `stdout`."""
    with tempfile.NamedTemporaryFile() as said, _one_at_a_time:
        asked = {"words": words, "cwd": str(folder), "environment": dict(os.environ), "said": said.name}
        _server().stdin.write(json.dumps(asked).encode() + b"\n")
        code = int(_server().stdout.readline())
        return subprocess.CompletedProcess(["snakemake", *words], code, Path(said.name).read_text())
