"""Snakemake without a second of imports at each start: a fork of a process that has them behind it.

What runs is `python -m snakemake` in a process of its own, with the folder, environment and words that were asked for;
neither Sophron nor a plugin is imported before the fork. A test of what Python imports starts one itself.
"""

import contextlib
import functools
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

SERVER = Path(__file__).parent / "warm" / "snakemake"
_one_at_a_time = threading.Lock()


@functools.cache
def _server() -> subprocess.Popen:
    """The process that forks; it ends with this one, whose pipe it reads."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, str(SERVER)]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)


class Process:
    """What `subprocess.Popen` is of a Python's start. Only one lives at a time, since the server waits for it."""

    def __init__(self, words: Sequence[str], folder: Path, environment: Mapping[str, str], said: str):
        _one_at_a_time.acquire()
        asked = {"words": words, "cwd": str(folder), "environment": dict(environment), "said": said}
        _server().stdin.write(json.dumps(asked).encode() + b"\n")
        self.pid = int(_server().stdout.readline())
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; its exit code, or minus the signal that ended it."""
        if self.returncode is None:
            if not select.select([_server().stdout], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("snakemake", timeout)
            self.returncode = int(_server().stdout.readline())
            _one_at_a_time.release()
        return self.returncode

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode


def run(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess:
    """Run Snakemake in `folder`; output and errors together in `stdout`."""
    with tempfile.NamedTemporaryFile() as said:
        code = Process(words, folder, os.environ, said.name).wait()
        return subprocess.CompletedProcess(["snakemake", *words], code, Path(said.name).read_text())
