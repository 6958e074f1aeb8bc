"""Limits that the kernel holds: those of one process, set between fork and exec, and the number of processes.

The number is bounded so that a fork bomb cannot outrun whoever watches (`resource_usage`), by two mechanisms, as
neither holds for everybody. RLIMIT_NPROC counts the processes of a user namespace (Linux 5.14 and later; before that
all of the account's, so it is left alone), but never binds the machine's root. For root there is a control group of the
pids controller (version 1 or 2), if the place for it can be written, as it cannot in many containers. If neither holds,
the number is only looked at, and a bomb may be quicker. The default number is in `grants`.
"""

import contextlib
import ctypes
import os
import platform
import re
import resource
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

from sophron.interfaces.sandbox import Grant

_PR_SET_PDEATHSIG = 1
_KEYCTL = {"x86_64": 250, "aarch64": 219, "ppc64le": 271, "riscv64": 219}
_KEYCTL_JOIN_SESSION_KEYRING = 1
_LIBRARY = ctypes.CDLL(None, use_errno=True)

Limit = tuple[int, int, int]


def wanted(grant: Grant) -> list[Limit]:
    """Return the kernel's limits for each process of a grant: (resource, soft, hard)."""
    made = [(resource.RLIMIT_CORE, 0, 0)]
    if grant.cpu_s is not None:
        made.append((resource.RLIMIT_CPU, grant.cpu_s, grant.cpu_s + 1))
    for which, megabytes in ((resource.RLIMIT_FSIZE, grant.file_mb), (resource.RLIMIT_AS, grant.memory_mb)):
        if megabytes is not None:
            made.append((which, megabytes * 1_000_000, megabytes * 1_000_000))
    return made


def apply(limits: list[Limit]) -> None:
    """Set them for this process and all that it starts."""
    for which, soft, hard in limits:
        resource.setrlimit(which, (soft, hard))


def die_with_parent() -> None:
    """Let the kernel kill this process when the thread that started it ends."""
    _LIBRARY.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def leave_keyring() -> None:
    """Begin an empty session keyring: the account's holds tickets and keys, and no namespace hides it.

    A kernel without keyrings refuses, and has none to hide; on an unknown processor the number is not known.
    """
    number = _KEYCTL.get(platform.machine())
    if number is not None:
        _LIBRARY.syscall(number, _KEYCTL_JOIN_SESSION_KEYRING, None)


def heed_interrupts() -> None:
    """Undo an ignored SIGINT: a shell hands one down to what it starts in the background, and it outlives exec.

    A test that interrupts a program would fail in a nightly run and pass at a terminal.
    """
    _LIBRARY.signal(signal.SIGINT, None)


_COUNTS_NAMESPACES = (5, 14)
_PROC = Path("/proc/self")


@contextlib.contextmanager
def bound_processes(pids: Sequence[int], most: int) -> Iterator[None]:
    """Hold `pids`, and all that they start from now on, to `most` processes and threads at once.

    The processes are in a user namespace of their own, and have all ended when the caller leaves.
    """
    if _kernel() >= _COUNTS_NAMESPACES:
        for pid in pids:
            _, hard = resource.prlimit(pid, resource.RLIMIT_NPROC)
            allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.prlimit(pid, resource.RLIMIT_NPROC, (allowed, allowed))
    group = _group(pids, most) if os.geteuid() == 0 else None
    try:
        yield
    finally:
        if group is not None:
            with contextlib.suppress(OSError):  # an empty group that stays costs nothing
                group.rmdir()


def _kernel() -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return tuple(map(int, found.groups())) if found else (0, 0)


def _group(pids: Sequence[int], most: int) -> Path | None:
    """A new group that holds `pids`; None if this machine lets nobody here make one."""
    for parent in _parents():
        group = parent / f"sophron-{os.getpid()}-{os.urandom(4).hex()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / "pids.max").write_text(f"{most}\n", encoding="ascii")
            for pid in pids:
                (group / "cgroup.procs").write_text(f"{pid}\n", encoding="ascii")
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
            continue
        return group
    return None


def _parents() -> Iterator[Path]:
    """Groups that a group with the pids controller may be made in: this process's own, or the one around it.

    In version 2 a group that holds processes hands no controller on, so it is mostly the one around it.
    """
    lines = (_PROC / "cgroup").read_text(encoding="utf-8").splitlines()
    own = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}
    for line in (_PROC / "mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        (root, mount), (kind, _, options) = before.split()[3:5], after.split()[:3]
        if kind == "cgroup" and "pids" in options.split(","):
            path = next((path for names, path in own.items() if "pids" in names.split(",")), root)
            yield _below(Path(mount), root, path)
        elif kind == "cgroup2":
            here = _below(Path(mount), root, own.get("", root))
            yield from (one for one in (here, here.parent) if _hands_on(one))


def _below(mount: Path, root: str, path: str) -> Path:
    """Where the group `path` is found, if the group `root` is mounted at `mount`."""
    return mount / os.path.relpath(path, root) if Path(path).is_relative_to(root) else mount


def _hands_on(group: Path) -> bool:
    try:
        return "pids" in (group / "cgroup.subtree_control").read_text(encoding="ascii").split()
    except OSError:
        return False
