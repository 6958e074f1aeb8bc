"""Who works on a campaign: one driver, or one signer, never both; and one process on each step's scratch."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sophron.records import SPEC_NAME, process_identity
from sophron.records.approvals import DRIVER_LOCK
from sophron.records.errors import UserError
from sophron.records.files import FileLock, LockHeldError

DRIVER = re.compile(r"snakemake|snakemake_executor_plugin_\w+\.\w+")
"""A word of a command line that is a program or module of Snakemake's."""
WITH_VALUE = ("-X", "-W", "--check-hash-based-pycs")
"""Options of Python whose value is the next word."""
PATIENCE_S = 5.0
STEPS_LOCK = Path("records") / "steps.lock"


def driver_lock(root: Path) -> FileLock:
    """Take the campaign for this process, until it ends; UserError while another has it."""
    lock = FileLock(root / DRIVER_LOCK, blocking=False)
    try:
        lock.acquire()
    except LockHeldError:
        holder = _holder(root / DRIVER_LOCK)
        raise UserError(
            f"{root.name}: another process works on this campaign ({holder}); wait for it or end it"
        ) from None
    lock.note(json.dumps(me()))
    return lock


@contextmanager
def signing(root: Path) -> Iterator[None]:
    """Hold the campaign to sign or amend: no driver, no step may run meanwhile."""
    if not (root / SPEC_NAME).exists():  # else the lock would make its folder anywhere
        raise UserError(f"{root / SPEC_NAME}: there is no such file; give the folder of a campaign")
    with driver_lock(root):
        steps = FileLock(root / STEPS_LOCK, blocking=False)
        try:
            steps.acquire()
        except LockHeldError:
            raise UserError(f"{root.name}: steps of this campaign are running; wait until they have ended") from None
        with steps:
            yield


def me() -> dict[str, object]:
    """Return this process, and the Snakemake that started it."""
    found = (pid for pid in process_identity.ancestors(os.getpid()) if _is_driver(pid))
    driver = next(found, None)
    entry: dict[str, object] = {**process_identity.identity()}
    return entry if driver is None else entry | {"driver": process_identity.identity(driver)}


def _holder(path: Path) -> str:
    try:
        note = json.loads(path.read_text())
        return f"process {note['pid']} on {note['host']}"
    except (OSError, ValueError, KeyError):
        return "unknown process"


def _is_driver(pid: int) -> bool:
    words = process_identity.command_line(pid)
    return bool(words) and _names_driver(words)


def _names_driver(words: Sequence[str]) -> bool:
    """Whether a command line is Snakemake's, or of a worker of an executor plugin; it may name both as text only."""
    return any(DRIVER.fullmatch(Path(word).name) for word in (words[0], _program(words)))


def _program(words: Sequence[str]) -> str:
    """What an interpreter was told to run: the module after `-m`, else the first word that is not an option's."""
    rest = iter(words[1:])
    for word in rest:
        if word == "-m":
            return next(rest, "")
        if word in WITH_VALUE:
            next(rest, "")
        elif not word.startswith("-"):
            return word
    return ""


@contextmanager
def step_scratch(folder: Path) -> Iterator[None]:
    """Hold a step's scratch folder. An orphan whose driver died is ended first; a living one is waited for."""
    path = folder.with_name(folder.name + ".lock")
    lock = FileLock(path, blocking=False)
    try:
        lock.acquire()
    except LockHeldError:
        _end_orphan(path)
        lock = FileLock(path)
        lock.acquire()
    with lock:
        lock.note(json.dumps(me()))
        folder.mkdir(parents=True, exist_ok=True)
        yield


def _end_orphan(path: Path) -> None:
    try:
        note = json.loads(path.read_text())
        pid, driver = int(note["pid"]), note.get("driver")
    except (OSError, ValueError, KeyError):
        return
    if not process_identity.alive(note) or driver is None or process_identity.alive(driver) is not False:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not process_identity.alive(note):
            return
        os.kill(pid, number)
        until = time.monotonic() + PATIENCE_S
        while process_identity.alive(note) and time.monotonic() < until:
            time.sleep(0.05)
