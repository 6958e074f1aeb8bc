"""What `sophron status`, `sophron watch` and the display of a run show: the state on disk and what is live of it."""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.agents.gateway import ledger
from sophron.campaign.state import projector as states
from sophron.campaign.state import time_left
from sophron.campaign.state.campaign_state import Record, cut_short, fresh, plain
from sophron.campaign.state.reducer import suspicious_sentence
from sophron.records import SPEC_NAME, approvals, events, process_identity, typed_json
from sophron.records.digests import file_digest
from sophron.records.errors import UserError
from sophron.records.terminal import next_line
from sophron.records.typed_json import from_json

if TYPE_CHECKING:
    from sophron.campaign.spec import spec


COMPLETED = "nothing: the campaign is completed"


def show(root: Path, *, as_json: bool) -> str:
    """The campaign at `root` as text, or as JSON for programs; it may be dead, or a copy of its three files."""
    seen = view(root)
    if as_json:
        return json.dumps(seen, indent=1, allow_nan=False)
    return "\n".join([*page(seen, seen["live"]), "", next_line(root, seen["live"]["next"])])


def view(root: Path, *, whole: bool = True) -> Record:
    """Return the state and, under `live`, what is live of it: what status, the run's display and `watch` show.

    whole: hold the state against its schema and look into every outcome for another definition too, which takes a
    moment; a display that looks again and again does without.
    """
    state = _state(root, checked=whole)
    return {**state, "live": look(root, state, whole=whole)}


def _state(root: Path, *, checked: bool = True) -> Record:
    """The state, brought up to date where the events are there and the folder can be written."""
    path, happened = root / states.NAME, (root / events.FILE).exists()
    try:
        state: Record | None = states.project(root) if happened else states.stored(root)
    except OSError:  # a read-only copy, or another user's campaign: what was written last is all there is
        state = states.stored(root)
    if state is None and path.exists():
        raise UserError(f"{path}: is damaged and the record of events is not beside it; copy the file again")
    if state is None and not (root / SPEC_NAME).is_file():
        raise UserError(f"{root}: holds neither {SPEC_NAME} nor {states.NAME}; give the folder of a campaign")
    if state is None:
        return fresh()
    if checked and not happened:  # what the events do not vouch for may have been written by anybody
        from sophron.records import documents

        documents.validate(documents.Document(state, path), "workflow-state")
    return state


# What the files cannot say: which of the recorded processes live, and how far they are


def look(root: Path, state: Record, *, whole: bool = True) -> Record:
    """What is live: `{driver, steps, eta, waiting_for, edited, stale, models, next}`.

    driver: fate of the Snakemake process ("running", "lost", "elsewhere"; None where it ended). steps: the running
    ones, each with its fate and progress. edited: campaign.yaml is not the recorded spec. stale: stage -> finished
    steps whose outcome was made for another definition than campaign.yaml has, unless that is the signed file. models:
    what calls of language models took and may take, as `ledger.beside_the_caps` has it. eta: time left; waiting_for:
    whom.
    """
    steps = [_look_at(root, stage, entry) for stage, entry in _running(state)]
    driver = _fate(state["run"]) if state["run"] and not state["run"]["ended_at"] else None
    signed = _signed(root)
    current = None if _is_signed_spec(root, state, signed) else _current(root)
    edited = current is not None and state["spec_digest"] not in {None, current.digest}
    return {
        "driver": driver,
        "steps": steps,
        "eta": time_left.left(state, steps, signed.ceilings, datetime.now().astimezone()),
        "waiting_for": list(_waiting_for(root, state, driver, edited=edited)),
        "edited": edited,
        "stale": _stale(root, current) if current and whole else {},
        "models": ledger.beside_the_caps(root),
        "next": _with_what_lacks(root, _advice(state, driver, [step["state"] for step in steps], edited=edited)),
    }


def _running(state: Record) -> Iterator[tuple[str | None, Record]]:
    for holder in (*state["stages"], state):
        for entry in holder["running_process"]:
            yield holder.get("id"), entry


def _fate(entry: Mapping[str, Any]) -> str:
    alive = process_identity.alive(entry)
    return "elsewhere" if alive is None else "running" if alive else "lost"


def _look_at(root: Path, stage: str | None, entry: Record) -> Record:
    from sophron.campaign.spec import engines

    log = root / entry["log"]
    found = engines.progress_of_try(root, log)
    fate = "ended" if "marker" in entry and (root / entry["marker"]).exists() else _fate(entry)
    return {
        "step": entry["step"],
        "stage": stage,
        "state": fate,
        "started_at": entry["started_at"],
        "log": entry["log"],
        "log_age_s": _age_s(log),
        "progress": asdict(found) if found else None,
    }


def _age_s(log: Path) -> float | None:
    """Seconds since anything was written into a log, or into a folder of logs beside the note of its try."""
    from sophron.campaign.spec import engines

    paths = [path for path in log.iterdir() if path.name != engines.TRY_NAME] if log.is_dir() else [log]
    written = [path.stat().st_mtime for path in paths if path.exists()]
    return round(max(0.0, time.time() - max(written)), 1) if written else None


@dataclass(frozen=True)
class _Signed:
    """What a look at a campaign takes from its gate file, whose signature is the gate's business.

    spec, spec_file: digest of the spec and of campaign.yaml; ceilings: by stage, they only bound a guess here.
    """

    spec: str = ""
    spec_file: str = ""
    ceilings: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def _signed(root: Path) -> _Signed:
    try:
        return from_json(
            _Signed, json.loads(json.loads((root / approvals.FOLDER / approvals.GATE_NAME).read_bytes())["record"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return _Signed()


def _is_signed_spec(root: Path, state: Record, signed: _Signed) -> bool:
    """Whether campaign.yaml is, to the byte, the one that was signed and recorded: nothing of it need be read then."""
    return signed.spec == state["spec_digest"] and file_digest(root / SPEC_NAME, missing_ok=True) == signed.spec_file


def _waiting_for(root: Path, state: Record, driver: str | None, *, edited: bool) -> Iterator[Record]:
    """Whom the campaign waits for: `{kind, what, command}` each; kind is signature, person or model."""
    if state["waiting_gate"] or edited:
        what = f"version {state['draft']['version']}" if state["draft"] else "the plan" if not edited else SPEC_NAME
        command = "sophron amend" if edited and not state["draft"] else state["next_command"]
        yield {"kind": "signature", "what": what, "command": command}
    if driver in {"running", "elsewhere"}:
        yield from _asked(root, state)


def asked(root: Path) -> list[Record]:
    """Return whose answer the running agent steps wait for: `{kind, what, command}` each."""
    return list(_asked(root, _state(root, checked=False)))


def _asked(root: Path, state: Record) -> Iterator[Record]:
    for step, entry in state["asked"].items():
        posted = (path.parent for path in sorted(root.glob(f"mailbox/{step}-*/request.json")))
        request = next((folder.name for folder in posted if not (folder / "answer.json").is_file()), None)
        command = f"sophron mailbox show {request}" if request else None
        yield {
            "kind": "person" if request else "model",
            "what": _named_agent_step(root, step, entry["agent"]),
            "command": command,
        }


def _named_agent_step(root: Path, step: str, agent: str) -> str:
    """The step of an agent, and how far the engine is that its tools run."""
    from sophron.campaign.spec import engines

    found = engines.progress_of_agent(root, step)
    return f"{step} ({agent}, {found.step} {found.unit})" if found else f"{step} ({agent})"


def _current(root: Path) -> "spec.Spec | None":
    try:
        found = (root / SPEC_NAME).stat()
        return _loaded(root / SPEC_NAME, found.st_mtime_ns, found.st_size)
    except (OSError, UserError):  # none, or an unfinished edit; `sophron review` says what is wrong with it
        return None


@lru_cache(maxsize=8)
def _loaded(path: Path, mtime_ns: int, size: int) -> "spec.Spec":
    """The spec in a file, parsed once as long as the file stays as it is."""
    from sophron.campaign.spec import spec

    del mtime_ns, size
    return spec.load(path)


def _stale(root: Path, current: "spec.Spec") -> dict[str, int]:
    from sophron.campaign.execution import outcome_store
    from sophron.records.digests import step_name

    stale: dict[str, int] = {}
    for stage in current.stages:
        digest = current.definition_digest(stage.name)
        paths = (
            outcome_store.published(root, step_name(stage.name, wildcards)) for wildcards in current.steps(stage.name)
        )
        superseded = sum(
            typed_json.load(path, outcome_store.Outcome).definition_digest != digest for path in paths if path
        )
        if superseded:
            stale[stage.name] = superseded
    return stale


def _with_what_lacks(root: Path, advice: str) -> str:
    from sophron.campaign.execution import outcome_store

    lack = outcome_store.without_caveats(root) if advice == COMPLETED else None
    return f"{advice}; {lack}" if lack else advice


def _advice(state: Record, driver: str | None, fates: list[str], *, edited: bool) -> str:
    if edited and not state["draft"]:
        return "sophron amend"
    if driver == "running":
        return "nothing: snakemake is at work"
    if state["next_command"] is None:
        return "snakemake" if driver == "lost" else COMPLETED
    if "running" in fates:
        return f"{state['next_command']} (the running steps are awaited or ended by it)"
    return str(state["next_command"])


# What `sophron status` prints: stages, what runs, what failed, who is waited for, and the next command


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
    if state.get("host"):
        lines += ["", _host_table(state["host"], live["driver"])]
    lines += _section("Running", [_step_line(step) for step in live["steps"]])
    if state["queued"]:
        lines += ["", f"Queued: {_named(list(state['queued']))}"]
    lines += _section("Errors", list(_errors(state)))
    lines += _section("Suspicious text", [suspicious_sentence(one) for one in state.get("suspicious_text", [])])
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


def _host_table(rules: Record, driver: str | None) -> str:
    """The jobs of a host workflow, by rule: those that a lost driver had running nobody knows the end of."""
    from tabulate import tabulate

    running = "lost" if driver == "lost" else "running"
    rows = []
    for name, rule in rules.items():
        begun = [len(rule[key]) for key in ("done", "running", "failed")]
        waiting = max(0, rule["planned"] - sum(begun))
        rows.append((name, rule["stage"] or "", *(count or "" for count in [*begun, waiting])))
    table: str = tabulate(
        rows,
        ("rule", "stage", "done", running, "failed", "waiting"),
        tablefmt="simple",
        colalign=("left", "left", "right", "right", "right", "right"),
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
