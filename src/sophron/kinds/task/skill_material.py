"""What a skill is made of: the attempts at a task, what workers did, and what they remembered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sophron.agents.memory.agent_memory import Memory
from sophron.campaign.execution import outcome_store
from sophron.campaign.skills import skill_folder, skill_source
from sophron.campaign.spec.spec import Spec
from sophron.interfaces import JsonObject
from sophron.kinds.task import agent_inputs, stages
from sophron.kinds.task.kind import CALLS, CONCLUDE, FILES, KIND, WORK, rule_of
from sophron.records.digests import step_name
from sophron.records.errors import UserError, did_you_mean
from sophron.records.files import resource
from sophron.records.typed_json import to_json
from sophron.tasks import tool_history
from sophron.tasks.tool_history import RecordedCall

MOST_CALLS, MOST_WRITTEN, MOST_SHOWN = 80, 1200, 600
"""Calls that are told, characters of what one ran or wrote, and of what it showed."""


def stage_of(spec: Spec, name: str | None) -> str:
    """Return the task that is meant: the one that is named, or the only one. UserError if that is not clear."""
    if spec.kind.name != KIND.name:
        raise UserError(f"{spec.document.path}: is of the kind {spec.kind.name}; a skill is made of tasks")
    names = [stage.name for stage in spec.stages]
    if name is None and len(names) > 1:
        raise UserError(f"{spec.document.path}: holds the tasks {', '.join(names)}; name one with --stage")
    if name is not None and name not in names:
        raise UserError(f'{spec.document.path}: has no task "{name}"; {did_you_mean(name, names)}')
    return name or names[0]


def inputs(root: Path, spec: Spec, stage: str) -> dict[str, Any]:
    """Gather the inputs of the skill maker. UserError if there is no attempt yet.

    The record of an agent that was edited since teaches no less, so it is read as it lies there.
    """
    concluded = _left(root, rule_of(CONCLUDE, stage), "history.json")
    if not concluded:
        raise UserError(f"{root}: there is no attempt at {stage} yet; let a worker try it first")
    return {
        "task": agent_inputs.task_text(spec.definition(stage)),
        "attempts": [to_json(one) for one in stages.history(concluded[max(concluded)])],
        "calls": _calls(_left(root, rule_of(WORK, stage), FILES[CALLS])),
        "memory": _remembered(root, agent_inputs.memories(stage, spec.definition(stage))),
        "known": _known(root),
    }


def _left(root: Path, rule: str, name: str) -> dict[int, Path]:
    """Return the file of a name that each round of a rule left, by its number."""
    found: dict[int, Path] = {}
    while outcome := outcome_store.published(root, step_name(rule, {"round": str(len(found) + 1)})):
        found[len(found) + 1] = outcome.parent / name
    return found


def _calls(histories: Mapping[int, Path]) -> list[JsonObject]:
    """Return what workers did; of many calls the first ones and the last ones."""
    told = [
        _told(attempt, number, call)
        for attempt, path in histories.items()
        for number, call in enumerate(tool_history.load(path), 1)
    ]
    half = MOST_CALLS // 2
    return told if len(told) <= MOST_CALLS else [*told[:half], *told[-half:]]


def _told(attempt: int, number: int, call: RecordedCall) -> JsonObject:
    did = call.command or str(call.arguments.get("text", ""))
    about = {
        "attempt": attempt,
        "call": number,
        "tool": call.tool,
        "did": _cut(did, MOST_WRITTEN),
        "showed": _cut(call.output, MOST_SHOWN),
        "failed": call.failed,
        "seconds": round(call.ended - call.begun, 1),
        "changed": sorted(call.changed),
    }
    return {**about, **({"path": call.arguments["path"]} if "path" in call.arguments else {})}


def _cut(text: str, most: int) -> str:
    """Return a text, or its beginning and its end, which mostly says how it went."""
    return text if len(text) <= most else f"{text[: most // 3]} [...] {text[-(most - most // 3) :]}"


def _remembered(root: Path, memory: Mapping[str, str]) -> str:
    """Return what was remembered of the task and of its campaign, as the worker left it."""
    lines: Sequence[str] = [
        f"- {entry.text}"
        for level, file in memory.items()
        if level != "global"
        for entry in Memory(root / file, level).entries()
    ]
    return "\n".join(lines) or "(nothing)"


def _known(root: Path) -> list[JsonObject]:
    shipped = [skill_folder.read(resource("skills", name)) for name in skill_source.shipped_names()]
    skills = {skill.name: skill for skill in [*shipped, *skill_source.campaign_skills(root)]}
    return [{"name": name, "description": skill.description} for name, skill in sorted(skills.items())]
