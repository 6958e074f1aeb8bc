"""Which process is meant by a recorded pid: host, pid and the moment it started, so that a reused pid is another."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def host() -> str:
    """Name of this machine."""
    return os.uname().nodename


def start_of(pid: int) -> str | None:
    """`<boot id>/<clock ticks since boot>` at which process `pid` of this machine started; None where it is dead."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The program's name stands in brackets and may hold blanks and brackets itself (proc(5), fields 2, 3 and 22).
    fields = status.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else f"{boot}/{fields[19]}"


def alive(entry: Mapping[str, Any]) -> bool | None:
    """Whether the process recorded as `{pid, pid_start, host}` still lives; None where it is on another machine."""
    if entry["host"] != host():
        return None
    start = start_of(entry["pid"])
    return start is not None and start == entry["pid_start"]
