"""System calls that no sandboxed program gets, as a seccomp filter: what namespaces and limits do not contain.

Refused as "not implemented", for which programs have a fallback: System V messages (memory that no process owns, so no
limit counts it; System V shared memory stays, as MPI libraries need it), key rings (the account's tickets), namespaces
of one's own, sockets of families that a network namespace does not hold, and parts of the kernel that a computation
does not need and that have been ways out of sandboxes. Refused as "not permitted": files with the setuid or setgid bit,
which would be this account's outside as well. Layout: linux/filter.h, seccomp(2).
"""

import errno
import platform
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Calls:
    """System calls of one processor by number. modes: those that set a file's mode -> index of that argument."""

    architecture: int
    denied: Mapping[str, int]
    modes: Mapping[int, int]
    clone: int
    socket: int


_CALLS = {
    "x86_64": Calls(
        0xC000003E,
        {
            "msgget": 68, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272, "perf_event_open": 298,
            "open_by_handle_at": 304, "setns": 308, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425,
            "clone3": 435, "openat2": 437,
        },
        {2: 2, 85: 1, 90: 1, 91: 1, 133: 1, 257: 3, 259: 2, 268: 2, 452: 2},
        clone=56,
        socket=41,
    ),
    "aarch64": Calls(
        0xC00000B7,
        {
            "unshare": 97, "msgget": 186, "add_key": 217, "request_key": 218, "keyctl": 219, "perf_event_open": 241,
            "open_by_handle_at": 265, "setns": 268, "bpf": 280, "userfaultfd": 282, "io_uring_setup": 425,
            "clone3": 435, "openat2": 437,
        },
        {33: 2, 52: 1, 53: 2, 56: 3, 452: 2},
        clone=220,
        socket=198,
    ),
}  # fmt: skip
_CLONE_NEWUSER = 0x10000000
_SET_ID = 0o6000
_FAMILIES = (1, 2, 10, 16)
"""Unix, IPv4, IPv6, netlink; not vsock (which reaches a virtual machine's host from any namespace), not raw packets."""
_OTHER_NUMBERS = 0x40000000
"""From here on x86_64 counts the calls of its x32 form, which would pass by a list of plain numbers."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_ALLOW = 0x7FFF0000
_ERROR = 0x00050000

Instruction = tuple[int, int, int, int]
"""(code, how many to skip if true, how many if false, operand)"""
_ABSENT: Instruction = (_RETURN, 0, 0, _ERROR | errno.ENOSYS)
_FORBIDDEN: Instruction = (_RETURN, 0, 0, _ERROR | errno.EPERM)
_ALLOWED: Instruction = (_RETURN, 0, 0, _ALLOW)


def program(machine: str | None = None) -> bytes | None:
    """Return the filter for this processor (or `machine`) as the kernel takes it.

    None for one that it is not written for.
    """
    calls = _CALLS.get(machine or platform.machine())
    if calls is None:
        return None
    return b"".join(struct.pack("=HBBI", *step) for step in _instructions(calls))


def _instructions(calls: Calls) -> list[Instruction]:
    steps: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, calls.architecture),
        _ABSENT,  # a program of another architecture, whose numbers mean other calls
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, 0, 1, _OTHER_NUMBERS),
        _ABSENT,
    ]
    for number in sorted(calls.denied.values()):
        steps += [(_EQUAL, 0, 1, number), _ABSENT]
    for number, argument in sorted(calls.modes.items()):
        steps += _if(number, argument, [(_ANY_BIT, 0, 1, _SET_ID), _FORBIDDEN])
    steps += _if(calls.clone, 0, [(_ANY_BIT, 0, 1, _CLONE_NEWUSER), _ABSENT])
    known: list[Instruction] = [(_EQUAL, len(_FAMILIES) - at, 0, one) for at, one in enumerate(_FAMILIES)]
    steps += _if(calls.socket, 0, [*known, _ABSENT])
    return [*steps, _ALLOWED]


def _if(number: int, argument: int, steps: Sequence[Instruction]) -> list[Instruction]:
    """For the call `number`, `steps` with its argument (the lower 32 bits) loaded, and then: allowed."""
    body = [(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument), *steps, _ALLOWED]
    return [(_EQUAL, 0, len(body), number), *body]
