"""What the emulated commands share: reading requests, and asking the Slurm that stands behind them."""

import re
import subprocess
from pathlib import Path

SERVER = "emulated"
ID = re.compile(rf"(\d+)(?:\[(\d*)\])?(?:\.{SERVER})?")
STATES = {"PENDING": "Q", "CONFIGURING": "Q", "RUNNING": "R", "COMPLETING": "E", "SUSPENDED": "S", "REQUEUED": "Q"}
WITH_VALUE = {"-N", "-l", "-q", "-A", "-o", "-j", "-r", "-v", "-J"}
IN_CHUNK = {"ncpus", "mpiprocs", "ompthreads", "mem", "ngpus"}


class RefusedError(Exception):
    """PBS would say no."""


def directives(script: Path) -> list[str]:
    """The words of the `#PBS` lines before the first command."""
    words: list[str] = []
    for line in script.read_text().splitlines():
        if line.startswith("#PBS "):
            words += line.removeprefix("#PBS ").strip().split(" ", 1)
        elif line and not line.startswith("#"):
            break
    return words


def options(words: list[str]) -> dict[str, list[str]]:
    """Option -> its values, in their order."""
    found: dict[str, list[str]] = {}
    while words:
        name, *words = words
        if name not in WITH_VALUE or not words:
            raise RefusedError(f"illegal option or missing value: {name}")
        value, *words = words
        found.setdefault(name, []).append(value.strip())
    return found


def resources(values: list[str]) -> dict[str, str]:
    """`select` (its one chunk, split; how many as `nodes`) and `walltime` of all `-l`."""
    found: dict[str, str] = {}
    for value in values:
        key, _, text = value.partition("=")
        if key == "walltime" and re.fullmatch(r"\d+:\d\d:\d\d", text):
            found["walltime"] = text
        elif key == "select":
            count, *parts = text.split(":")
            if count != "1" and "place=scatter" not in values:
                raise RefusedError("the emulation gives each chunk a node: place=scatter")
            chunk = dict(part.split("=", 1) for part in parts)
            if not set(chunk) <= IN_CHUNK or not re.fullmatch(r"\d+mb", chunk.get("mem", "1mb")):
                raise RefusedError(f"unknown resource in {value}")
            found |= chunk | {"nodes": count}
        elif value != "place=scatter":
            raise RefusedError(f"unknown resource {value}")
    return found


def job_of(text: str) -> tuple[str, str | None]:
    """Slurm's id of a job, and what stands between the brackets of an array's; None where it is no array."""
    found = ID.fullmatch(text)
    if found is None:
        raise RefusedError(f"illegally formed job identifier: {text}")
    return found[1], found[2]


def slurm_id(text: str) -> str:
    """`12[3].emulated` as `12_3`."""
    number, index = job_of(text)
    return f"{number}_{index}" if index else number


def shown(text: str) -> list[dict[str, str]]:
    """What Slurm shows of the job, an entry for each part of an array; empty where it knows none."""
    done = subprocess.run(
        ["scontrol", "--oneliner", "show", "job", slurm_id(text)], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines() if done.returncode == 0 else []
    return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in lines]


def state(job: dict[str, str]) -> str:
    """The letter that PBS has for the state; F for all that has ended."""
    return STATES.get(job["JobState"], "F")


def exit_status(job: dict[str, str]) -> int:
    """As PBS says it: 256 and more for a signal, 271 for one that was deleted, -29 for its wall time."""
    if job["JobState"] == "CANCELLED":
        return 271
    if job["JobState"] == "TIMEOUT":
        return -29
    code, _, number = job["ExitCode"].partition(":")
    return 256 + int(number) if int(number) else int(code)
