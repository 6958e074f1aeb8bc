"""Logs of steps as agents read them: the engine's first of all, once each; schedulers', Snakemake's and ours are short.

What Snakemake and Sophron print about a failure is its echo, and there is more of it than of the failure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sophron.agents.documents import known_failures
from sophron.campaign.execution import outcome_store
from sophron.records import events

MOST_STEPS = 2
ENGINE_BYTES, JOB_BYTES, SCHEDULER_BYTES, SNAKEMAKE_BYTES = 8_000, 2_000, 2_000, 1_000
MOST_NOTABLE, LAST_LINES = 20, 8
NOTABLE = re.compile(r"\b(error|warning|exception|fatal|nan)\b", re.IGNORECASE)
NOTABLE_ENDS = re.compile(r"\w(?:Error|Exception)\b|^Error in ")
NO_LOGS = {".json", ".jsonl", ".lock"}


def failed_steps(reasons: Mapping[str, object]) -> list[str]:
    """Return the steps whose logs are worth reading: the first of each reason, numbers in it aside."""
    first: dict[str, str] = {}
    for step, reason in reasons.items():
        first.setdefault(re.sub(r"\d+", "#", str(reason)), step)
    return list(first.values())[:MOST_STEPS]


def whole(root: Path, stage: str, steps: Sequence[str]) -> str:
    """Return what is known of the newest tries of steps, the engine's logs last; a line stands there once."""
    said: set[str] = set()
    parts = [part for path, text in _texts(root, stage, steps) if (part := _unsaid(root, path, text, said))]
    return "\n".join(reversed(parts))


def of_host(root: Path, steps: Sequence[str], workdir: Path) -> str:
    """Return how the logs of a host workflow's jobs end; of rules without one, what Snakemake says of the failure.

    The newest failure of a job counts. workdir: where Snakemake runs.
    """
    failures = {one["step"]: one["log"] for one in events.read(root)[0] if one["event"] == "host_job_failed"}
    paths = {Path(failures[step]) for step in steps if failures.get(step)}
    texts = [f"==> {path.name}\n{_tail(path, ENGINE_BYTES)}" for path in sorted(paths) if path.is_file()]
    if any(step in failures and not failures[step] for step in steps):
        texts += [f"==> Snakemake's own log\n{_errors(path)}" for path in _newest(workdir / ".snakemake" / "log")[:1]]
    return "\n".join(texts)


def _errors(path: Path) -> str:
    """Return what Snakemake says of the first error, and the lines behind it."""
    lines = _lines(path)
    first = next((place for place, line in enumerate(lines) if NOTABLE_ENDS.search(line)), len(lines))
    return "\n".join(lines[first:])[:JOB_BYTES]


def decisive(root: Path, steps: Sequence[str]) -> str:
    """Return the lines of the engines' logs that may decide: known messages, warnings, and how each log ends."""
    logs = [path for step in steps[:MOST_STEPS] for path in _engine_logs(root, step)[:1]]
    kept: list[str] = []
    for path in logs:
        lines = [line for line in _lines(path) if line.strip()]
        kept += [f"==> {path.relative_to(root)}", *notable(lines)[:MOST_NOTABLE], *lines[-LAST_LINES:]]
    return "\n".join(dict.fromkeys(kept))


def notable(lines: Sequence[str]) -> list[str]:
    """Return the lines that hold a known message or a word such as ERROR, once each."""
    known = {match.place for match in known_failures.matches(lines, known_failures.installed())}
    return list(dict.fromkeys(line for place, line in enumerate(lines) if place in known or NOTABLE.search(line)))


def _texts(root: Path, stage: str, steps: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Yield each log with its share of bytes, the most telling first."""
    for step in steps[:MOST_STEPS]:
        for path in _engine_logs(root, step):
            yield path, _tail(path, ENGINE_BYTES)
    for path in (path for step in steps[:MOST_STEPS] for path in _job_logs(root, step)):
        yield path, _tail(path, JOB_BYTES)
    scheduler = [path for path in _newest(root / ".snakemake" / "slurm_logs") if stage in str(path)]
    for path in scheduler[:MOST_STEPS]:
        yield path, _tail(path, SCHEDULER_BYTES)
    for path in _newest(root / ".snakemake" / "log")[:1]:
        yield path, "\n".join(notable(_lines(path)))[-SNAKEMAKE_BYTES:]


def _engine_logs(root: Path, step: str) -> list[Path]:
    """Return what the newest try of a step left: the engine's log, its input, what it printed."""
    folder = outcome_store.record_folder(root, step)
    number = max((int(path.name) for path in folder.glob("[0-9]*") if path.name.isdigit()), default=0)
    found = [path for path in (folder / str(number)).glob("*") if path.is_file() and path.suffix not in NO_LOGS]
    return sorted(found, key=lambda path: (not path.name.startswith("log."), path.name))


def _job_logs(root: Path, step: str) -> list[Path]:
    top = root / "logs"
    return [path for path in top.rglob("*.log") if "-".join(path.relative_to(top).with_suffix("").parts) == step]


def _newest(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.log"), key=lambda path: path.stat().st_mtime_ns, reverse=True)


def _lines(path: Path) -> list[str]:
    return path.read_bytes().decode(errors="replace").splitlines()


def _tail(path: Path, most: int) -> str:
    """Return the end of a log, after those lines of the rest that are notable."""
    raw = path.read_bytes()
    if len(raw) <= most:
        return raw.decode(errors="replace")
    before = notable(raw[:-most].decode(errors="replace").splitlines())[:MOST_NOTABLE]
    head = [f"[{len(raw) - most} bytes left out]" if not before else "[of the bytes left out:]", *before, "[...]"]
    return "\n".join(head) + "\n" + raw[-most:].decode(errors="replace").partition("\n")[2]


def _unsaid(root: Path, path: Path, text: str, said: set[str]) -> str:
    """Return a log without the lines that one before it holds; empty if none is left."""
    lines = [line for line in text.splitlines() if line.strip() and line.strip() not in said]
    said.update(line.strip() for line in lines)
    return "\n".join([f"==> {path.relative_to(root)}", *lines]) if lines else ""
