"""Blocks of drivers that died: recorded when they are submitted, given back before the next run submits anything."""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parsl.jobs.states import JobState, JobStatus
from parsl.providers.base import ExecutionProvider

from sophron.records import files, process_identity
from sophron.records.files import FileLock, LockHeldError

GONE_S = 60.0  # a scheduler takes its time to end a job: KillWait of Slurm is 30 s
LOOK_S = 0.5


class Blocks:
    """The record of this run's blocks. Its lock dies with the driver, which tells a dead run from a living one."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.blocks"
        self._lock = FileLock(self.path, blocking=False)
        self._lock.acquire()

    def add(self, provider: str, block: str) -> None:
        """Note a submitted block: its job id, or the process id of a local one."""
        here = (
            {"host": process_identity.host(), "pid_start": process_identity.start_of(int(block))}
            if provider == "local"
            else {}
        )
        files.append_json_line(self.path, {"provider": provider, "block": block, **here})

    def close(self) -> None:
        """Note that all blocks were given back."""
        self.path.unlink(missing_ok=True)
        self._lock.release()


def give_back(folder: Path, providers: Mapping[str, ExecutionProvider]) -> list[str]:
    """End the blocks of dead runs recorded in `folder`, and wait until they are gone; their job ids.

    providers: how to end a block, by name. Blocks of others are left in the record for a run that has theirs.
    """
    ended: list[str] = []
    for path in folder.glob("*.blocks"):
        lock = FileLock(path, blocking=False)
        try:
            lock.acquire()
        except LockHeldError:
            continue  # that driver lives
        with lock:
            records, _ = files.read_json_lines(path)
            mine = [one for one in records if one["provider"] in providers]
            for name in {one["provider"] for one in mine}:
                these = [one for one in mine if one["provider"] == name]
                ended += _end_local(these) if name == "local" else _end_queued(these, providers[name])
            if len(mine) == len(records):
                path.unlink()
    return ended


def _end_local(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Local blocks are process groups on the machine of their driver."""
    ended = []
    for one in records:
        pid = int(one["block"])
        if process_identity.alive({"pid": pid, **one}):
            os.killpg(os.getpgid(pid), signal.SIGKILL)
            ended.append(one["block"])
    return ended


def _end_queued(records: Sequence[Mapping[str, Any]], provider: ExecutionProvider) -> list[str]:
    known: dict[str, Any] = provider.resources
    blocks = [one["block"] for one in records]
    for block in blocks:
        known[block] = {"status": JobStatus(JobState.UNKNOWN), "job_stdout_path": None, "job_stderr_path": None}
    living = [block for block, status in zip(blocks, provider.status(blocks), strict=True) if not status.terminal]
    if living:
        provider.cancel(living)
        for block in living:
            known[block]["status"] = JobStatus(JobState.UNKNOWN)  # cancelled is asked for, not yet done
        deadline = time.monotonic() + GONE_S
        while time.monotonic() < deadline and not all(one.terminal for one in provider.status(living)):
            time.sleep(LOOK_S)
    for block in blocks:
        del known[block]
    return living
