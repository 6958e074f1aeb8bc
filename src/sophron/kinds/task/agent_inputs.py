"""What the agents of a task are told: the task as it was signed, where they work, and what earlier attempts came to.

The worker is told neither tests nor expected values; of a failed check it hears the name. The reviewer, in a context of
its own, is told the task, the sentences that were signed as its to judge, and a copy of the frozen work.
"""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.agents.memory import agent_memory
from sophron.agents.memory.agent_memory import LEVELS, Memory
from sophron.campaign.execution import outcome_store
from sophron.campaign.execution.outcome_store import Finished
from sophron.campaign.spec.spec import Spec
from sophron.interfaces.kind import Definition, Wildcards
from sophron.kinds.task import desk, stages
from sophron.kinds.task.desk import Order
from sophron.kinds.task.kind import CONCLUDE, MANIFEST, PRESCAN, REVIEW, TREE, WORK, rule_of
from sophron.records.digests import step_name
from sophron.records.files import load_json, user_state, write_json
from sophron.records.typed_json import load, to_json
from sophron.tasks import attempts
from sophron.tasks.attempts import RebuiltEnvironment

Inputs = dict[str, Any]
MOST_NAMES = 60
"""Files that an agent is told by name; it can list the others."""
KEPT = "the work folder and /root; what is written elsewhere is gone after each call"
NOT_HERE = "test programs that the task names"


def task_work(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """Gather the inputs of the worker: task, place, what earlier attempts came to, memory, and its desk."""
    stage, number = wildcards["stage"], int(wildcards["round"])
    about = spec.definition(stage)
    scanned = outcome_store.usable(outcome_store.finished(root, spec, rule_of(PRESCAN, stage), {}))
    step = step_name(rule_of(WORK, stage), {"round": str(number)})
    tried = _tried(root, spec, stage, number)
    start = _start(root, spec, stage, number, scanned)
    order = _order(root, about, scanned, start, memories(stage, about))
    return {
        "task": task_text(about),
        "place": _place(root, about, scanned, start, number),
        "attempts": [to_json(one) for one in tried],
        "memory": _remembered(root, step, order.memory),
        "desk": _written(root, step, order),
    }


def task_review(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """Gather the inputs of the reviewer: task, sentences to judge, what the worker says, and a copy of its work."""
    stage, number = wildcards["stage"], int(wildcards["round"])
    about, own = spec.definition(stage), {"round": str(number)}
    scanned = outcome_store.usable(outcome_store.finished(root, spec, rule_of(PRESCAN, stage), {}))
    worked = outcome_store.whole(outcome_store.answered(root, spec, rule_of(WORK, stage), own))
    sentences = [{"sentence": place, "text": text} for place, text in enumerate(stages.judged_sentences(about), 1)]
    return {
        "task": task_text(about),
        "sentences": sentences,
        "summary": str(worked.outcome.result.get("summary", "")),
        "place": {"work_folder": _workdir(root, about), "files": _names(worked)},
        "desk": _written(root, step_name(rule_of(REVIEW, stage), own), _order(root, about, scanned, worked, {})),
    }


def task_text(about: Definition) -> str:
    """Return a task as its agents read it: context, what is to be done, and the sentences of its expectation."""
    parts = [f"## Context\n\n{about['context']}"] if about.get("context") else []
    plain = not parts and "expectations" not in about
    parts.append(about["instruction"] if plain else f"## To-do\n\n{about['instruction']}")
    if sentences := [f"- {one['text']}" for one in about.get("expectations", ())]:
        parts.append("## Expectation\n\n" + "\n".join(sentences))
    return "\n\n".join(parts)


def _tried(root: Path, spec: Spec, stage: str, number: int) -> list[stages.Attempt]:
    """Return the attempts before this one."""
    if number == 1:
        return []
    before = outcome_store.finished(root, spec, rule_of(CONCLUDE, stage), {"round": str(number - 1)})
    return stages.history(outcome_store.usable(before).files["history"])


def _start(root: Path, spec: Spec, stage: str, number: int, scanned: Finished) -> Finished:
    """Return what holds the tree that an attempt begins with: that of the one before, as far as it left one."""
    if number > 1:
        before = outcome_store.answered(root, spec, rule_of(WORK, stage), {"round": str(number - 1)})
        if TREE in before.files and before.files[TREE].stat().st_size:
            return outcome_store.whole(before)
    return scanned


def _order(root: Path, about: Definition, scanned: Finished, start: Finished, memory: Mapping[str, str]) -> Order:
    made = load(scanned.files["environment"], RebuiltEnvironment)
    prefix = stages.prefix_of(Path(), made, attempts.WORK)
    archive = start.files[TREE]
    own = {key: about[key] for key in ("network", "work_s", "command_s") if key in about}
    return Order(
        start=_relative(root, archive),
        start_digest=start.outcome.files[TREE].sha256,
        folder=about.get("folder", ""),
        prefix=str(prefix) if prefix else "",
        memory=memory,
        **own,
    )


def _relative(root: Path, path: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _workdir(root: Path, about: Definition) -> str:
    return stages.box_of(stages.signed_folder(about, root) if "folder" in about else None, root).workdir


def _names(step: Finished) -> list[str]:
    names = list(load_json(step.files[MANIFEST])) if MANIFEST in step.files else []
    more = [f"and {len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
    return [*(f"/{name}" for name in names[:MOST_NAMES]), *more]


def _place(root: Path, about: Definition, scanned: Finished, start: Finished, number: int) -> Inputs:
    """Return what there is to work with; no path of this machine."""
    made = load(scanned.files["environment"], RebuiltEnvironment)
    order = desk.Order("", "")
    return {
        "work_folder": _workdir(root, about),
        "files_at_the_beginning": _names(start),
        "kept_between_calls": KEPT,
        **({"not_here": NOT_HERE} if "tests" in about else {}),
        "python": made.python or platform.python_version(),
        "python_packages": _packages(made),
        "network": bool(about.get("network", False)),
        "seconds_of_one_command": round(about.get("command_s", order.command_s)),
        "seconds_of_all_commands_of_an_attempt": round(about.get("work_s", order.work_s)),
        "attempt": number,
        "attempts": about["attempts"],
    }


def _packages(made: RebuiltEnvironment) -> list[str] | str:
    """Return what pip resolved; for a task in Markdown, the names of what this installation has."""
    if made.python:
        return [*made.packages.get(attempts.WORK, ())]
    return " ".join(sorted({str(one.metadata["Name"]) for one in importlib.metadata.distributions()} - {"sophron"}))


def memories(stage: str, about: Definition) -> dict[str, str]:
    """Return level -> file, up to the level that was signed."""
    wanted, folder = about.get("memory", "task"), "records/memory/work"
    files = {"task": f"{folder}/{stage}.md", "group": f"{folder}/group.md", "global": str(user_state() / "work.md")}
    levels = [*LEVELS]
    return {level: files[level] for level in levels[: levels.index(wanted) + 1]} if wanted in levels else {}


def _remembered(root: Path, step: str, memory: Mapping[str, str]) -> str:
    """Return what is remembered as it was when this step was first asked: a kill must not change what it is told."""
    place = outcome_store.record_folder(root, step) / "memory"
    if not (place / agent_memory.INDEX).is_file():
        agent_memory.snapshot({level: root / file for level, file in memory.items()}, place)
    blocks = []
    for level, about in load_json(place / agent_memory.INDEX).items():
        entries = Memory(place / about["file"], level).entries()
        blocks += [f"Of this {level}:"] + [f"- {entry.text}" for entry in entries] if entries else []
    return "\n".join(blocks) or "(nothing yet)"


def _written(root: Path, step: str, order: Order) -> Path:
    path = outcome_store.record_folder(root, step) / desk.FILE
    write_json(path, to_json(order))
    return path
