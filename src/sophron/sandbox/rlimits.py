"""Kernel limits of one process, set in a child between fork and exec."""

import ctypes
import platform
import resource
import signal

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
