"""What `sophron status` prints: stages, what runs, what failed, who is waited for, and the next command."""

import os
import sys
from collections.abc import Iterator

from sophron.agents.gateway import ledger
from sophron.campaign.state.model import Record, cut_short
from sophron.campaign.state.progress_log import plain
from sophron.records import SPEC_NAME

COLOURS = {"completed": 32, "pass": 32, "in_progress": 36, "failed": 31, "fail": 31, "lost": 31, "invalidated": 35}
MOST_NAMED = 6


def page(state: Record, live: Record) -> list[str]:
    lines = [f"Campaign {state['workflow_id'] or '(no spec signed yet)'}, version {state['version']}: "]
    unfinished = state["workflow_status"] == "completed" and (state["failed_steps"] or cut_short(state["run"]))
    lines[0] += "all stages accepted, the rest is not done" if unfinished else _paint(state["workflow_status"])
    if state["run"]:
        lines.append(_driver_line(state["run"], live["driver"]))
    if live["driver"] == "running":
        lines.append(f"Time left: {time_left_text(live['eta'])}")
    if live["models"]:
        lines.append(ledger.spending_sentence(live["models"]))
    if state["stages"]:
        lines += ["", _stage_table(state["stages"])]
    lines += _section("Running", [_step_line(step) for step in live["steps"]])
    if state["queued"]:
        lines += ["", f"Queued: {_named(list(state['queued']))}"]
    lines += _section("Errors", list(_errors(state)))
    return lines + _section("Waiting", list(_waiting(state, live)))


def _named(steps: list[str]) -> str:
    more = f" and {len(steps) - MOST_NAMED} more" if len(steps) > MOST_NAMED else ""
    return ", ".join(steps[:MOST_NAMED]) + more


def _section(title: str, entries: list[str]) -> list[str]:
    return ["", title, *(f"  {entry}" for entry in entries)] if entries else []


def _driver_line(run: Record, fate: str | None) -> str:
    words = {
        None: f"ended {run['ended_at']}",
        "running": "is running",
        "lost": f"{_paint('lost')}; run snakemake again",
        "elsewhere": "runs on another machine, not visible from here",
    }
    where = f"pid {run['pid']} on {run['host']}"
    return f"snakemake {run['snakemake_version']} ({where}): {words[fate]}; {run['done']} of {run['total']} jobs done"


def _stage_table(stages: list[Record]) -> str:
    from tabulate import tabulate

    rows = [
        (
            stage["id"],
            _paint(stage["status"]),
            f"{len(stage['outputs'])}/{stage['steps']}",
            len(stage["running_process"]) or "",
            stage["retry_count"] or "",
            _paint(stage["verdict"]["verdict"]) if stage["verdict"] else "",
        )
        for stage in stages
    ]
    headers = ("stage", "status", "steps", "running", "retries", "verdict")
    table: str = tabulate(
        rows, headers, tablefmt="simple", colalign=("left", "left", "right", "right", "right", "left")
    )
    return table


def _step_line(step: Record) -> str:
    name, found = f"{step['step']:<16}", step["progress"]
    progress = how_far(found) if found else ""
    if step["state"] == "lost":
        return f"{name} {_paint('lost')}; run snakemake again{f' ({progress})' if progress else ''}"
    if step["state"] == "ended":
        return f"{name} has ended; run snakemake to collect it"
    if step["state"] == "elsewhere":
        age = f", its log is {duration(step['log_age_s'])} old" if step["log_age_s"] is not None else ""
        progress = f"{progress + ' ' if progress else ''}(on another machine{age})"
    return f"{name} {progress or 'running'}"


def how_far(found: Record) -> str:
    """Percent, steps, speed and time left, as far as the log tells them."""
    step, total = found["step"], found["total"]
    unit = found["unit"]
    text = f"{step:,} of {total:,} {unit}" if total else f"{step:,} {unit}"
    if total:
        text = f"{100 * step / total:3.0f} %  {text}"
    if found["steps_per_s"]:
        text += f", {found['steps_per_s']:,.{0 if found['steps_per_s'] >= 10 else 2}f} {unit.split()[0]}/s"
    if found["seconds_left"] is not None:
        text += f", {duration(found['seconds_left'])} left"
    return text


def duration(seconds: float) -> str:
    """Seconds in the largest unit of which there are two: `90 s`, `12 min`, `3 h`."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def time_left_text(eta: Record) -> str:
    """`12 min`, `at most 3 h`, or `?`."""
    if eta["seconds"] is None:
        return "?"
    return f"{'at most ' if eta['basis'] == 'ceiling' else ''}{duration(eta['seconds'])}"


def _errors(state: Record) -> Iterator[str]:
    for holder in (*state["stages"], state):
        if holder["last_error"] and holder.get("status") != "completed":
            name = holder.get("id", "snakemake")
            again = f"; if it was the machine, repair it: sophron retry {name}" if _has_failed_outcome(holder) else ""
            yield f"{name}: {plain(holder['last_error'])}{again}"


def _has_failed_outcome(holder: Record) -> bool:
    """Whether engines failed and their outcomes stand, as evidence that nothing but a request clears."""
    verdict = holder.get("verdict")
    return bool(verdict and verdict["verdict"] == "fail" and holder["failed_steps"])


def _waiting(state: Record, live: Record) -> Iterator[str]:
    draft, refusal = state["draft"], state["last_refusal"]
    if state["waiting_gate"] == "specify":
        yield "Specify gate: no version is signed yet"
    elif draft:
        yield f"Amend gate: version {draft['version']} is drafted: {plain(draft['rationale'])}"
    elif live["edited"] or state["waiting_gate"]:
        yield f"Amend gate: {SPEC_NAME} is not the spec that was signed"
    for one in live["waiting_for"]:
        if one["kind"] != "signature":
            yield f"{one['what']}: a {one['kind']} answers" + (f": {one['command']}" if one["command"] else "")
    if refusal:
        yield f"refused: {plain(refusal['reason'])}"
    for stage, count in live["stale"].items():
        yield f"{stage}: {count} results were made for another definition than {SPEC_NAME} has now"


def _paint(word: str) -> str:
    """`word` in its colour where a person looks on."""
    if word not in COLOURS or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return word
    return f"\x1b[{COLOURS[word]}m{word}\x1b[0m"
