"""Which process is meant by a recorded pid, and where it runs: host, scheduler's job, pilot's worker, dispatcher.

A process is its host, pid and the moment it started, so that a reused pid is another. A scheduler sets its job's id in
every process of the job, a pilot its worker's number. Read from /proc, by the standard library: each step does this at
its start, and importing psutil for it takes longer than all of the reading.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

_PROC = Path("/proc")

SCHEDULER_JOBS = {"slurm": "SLURM_JOB_ID", "pbs": "PBS_JOBID", "lsf": "LSB_JOBID"}
"""Scheduler -> variable that holds the id of the job."""

PILOTS = {"parsl": ("PARSL_WORKER_POOL_ID", "PARSL_WORKER_RANK")}
"""Pilot -> variables that name a worker of it."""

DISPATCHERS = {"dpdispatcher": "DPDISP_DONE"}
"""Dispatcher -> variable that it sets in each of its tasks."""


class ProcessIdentity(TypedDict):
    """A process as records name it. pid_start: None if it was dead when it was looked at."""

    pid: int
    pid_start: str | None
    host: str


def identity(pid: int | None = None) -> ProcessIdentity:
    """Return the identity of process `pid` of this machine; without it, of this one."""
    pid = os.getpid() if pid is None else pid
    return {"pid": pid, "pid_start": start_of(pid), "host": host()}


def host() -> str:
    """Return the name of this machine."""
    return os.uname().nodename


def placement(environment: Mapping[str, str] = os.environ) -> dict[str, str | None]:
    """Return `host`; `scheduler` and `job`; `pilot` and `worker`; `dispatcher`. Each is None outside of one.

    A pilot's worker stands inside the job of its block, and a dispatcher's task in that of its queue, so it may have
    several of them.
    """
    scheduler = next((name for name, variable in SCHEDULER_JOBS.items() if environment.get(variable)), None)
    pilot = next((name for name, variables in PILOTS.items() if all(map(environment.get, variables))), None)
    dispatcher = next((name for name, variable in DISPATCHERS.items() if environment.get(variable)), None)
    return {
        "host": host(),
        "scheduler": scheduler,
        "job": environment[SCHEDULER_JOBS[scheduler]] if scheduler else None,
        "pilot": pilot,
        "worker": "/".join(environment[variable] for variable in PILOTS[pilot]) if pilot else None,
        "dispatcher": dispatcher,
    }


def start_of(pid: int) -> str | None:
    """Return `<boot id>/<clock ticks since boot>` at which process `pid` of this machine started.

    None if it is dead.
    """
    try:
        fields = stat_fields(_PROC / str(pid))
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else f"{boot}/{fields[19]}"


def alive(entry: Mapping[str, Any]) -> bool | None:
    """Return whether the process that an entry names still lives; None if it is on another machine."""
    if entry["host"] != host():
        return None
    start = start_of(entry["pid"])
    return start is not None and start == entry["pid_start"]


def ancestors(pid: int) -> Iterator[int]:
    """Yield pids of the parent of process `pid`, its parent and so on, without init."""
    try:
        while (pid := int(stat_fields(_PROC / str(pid))[1])) > 1:
            yield pid
    except OSError:
        return


def command_line(pid: int) -> list[str]:
    """Return the words of a process's command line; none if it has ended."""
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def stat_fields(process: Path) -> list[str]:
    """Return the fields of a process's `stat` from its state on (field 3 of proc(5)).

    process: its folder below a /proc.
    """
    # The program's name stands in brackets and may hold blanks and brackets itself.
    return (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
