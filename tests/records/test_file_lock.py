"""Locks: one writer or many readers, between real processes, and gone with a holder that is killed."""

import contextlib
import signal
import subprocess
import sys
import threading
import time

import pytest

from sophron.records.files import FileLock, LockHeldError

HOLDER = """
import sys, time
from pathlib import Path
from sophron.records.files import FileLock
with FileLock(Path(sys.argv[1]), shared=sys.argv[2] == "shared"):
    print("held", flush=True)
    time.sleep(600)
"""
COUNTER = """
import sys
from pathlib import Path
from sophron.records.files import FileLock
counter = Path(sys.argv[1])
for _ in range(200):
    with FileLock(counter.with_suffix(".lock")):
        counter.write_text(str(int(counter.read_text()) + 1))
"""


@contextlib.contextmanager
def holder(path, kind):
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path), kind], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"held\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def free(path, *, shared):
    try:
        with FileLock(path, shared=shared, blocking=False):
            return True
    except LockHeldError:
        return False


def test_an_exclusive_lock_keeps_all_others_out_and_dies_with_a_killed_holder(tmp_path):
    path = tmp_path / "deep" / "lock"
    with holder(path, "exclusive") as process:
        assert not free(path, shared=False)
        assert not free(path, shared=True)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert free(path, shared=False)
    assert path.is_file()


def test_a_shared_lock_lets_other_readers_in(tmp_path):
    with holder(tmp_path / "lock", "shared"):
        assert free(tmp_path / "lock", shared=True)
        assert not free(tmp_path / "lock", shared=False)
    assert free(tmp_path / "lock", shared=False)


def test_a_blocking_lock_waits_for_the_holder(tmp_path):
    path = tmp_path / "lock"
    with holder(path, "exclusive") as process:
        threading.Timer(0.3, process.kill).start()
        begun = time.monotonic()
        with FileLock(path):
            assert time.monotonic() - begun > 0.2


def test_no_count_is_lost_between_processes(tmp_path):
    (tmp_path / "counter").write_text("0")
    command = [sys.executable, "-c", COUNTER, str(tmp_path / "counter")]
    for process in [subprocess.Popen(command) for _ in range(3)]:
        assert process.wait() == 0
    assert (tmp_path / "counter").read_text() == "600"


def test_the_note_says_who_holds_it_and_goes_with_the_lock(tmp_path):
    path = tmp_path / "lock"
    path.write_text("a long note of an earlier holder")
    with FileLock(path) as lock:
        lock.note("pid 7")
        assert path.read_text() == "pid 7"
    lock.release()
    assert path.read_text() == ""


def test_an_error_inside_gives_the_lock_back(tmp_path):
    with pytest.raises(ValueError), FileLock(tmp_path / "lock"):
        raise ValueError
    assert free(tmp_path / "lock", shared=False)


def test_a_program_that_the_holder_starts_does_not_keep_the_lock(tmp_path):
    with FileLock(tmp_path / "lock"):
        child = subprocess.Popen(["sleep", "600"], close_fds=False)
    try:
        assert free(tmp_path / "lock", shared=False)
    finally:
        child.kill()
        child.wait()


def test_a_process_that_inherits_a_lock_holds_it(tmp_path):
    path = tmp_path / "lock"
    lock = FileLock(path)
    with pytest.raises(ValueError, match="is not held"):
        lock.fileno()
    with lock:
        child = subprocess.Popen(["sleep", "60"], pass_fds=[lock.fileno()])
    try:
        with pytest.raises(LockHeldError):
            FileLock(path, blocking=False).acquire()
    finally:
        child.kill()
        child.wait()
    FileLock(path, blocking=False).acquire()
