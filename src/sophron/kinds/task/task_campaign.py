"""The campaign of tasks: each of them a stage, its files in the campaign, what is checked in the spec to be signed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from sophron.agents.rule_based import open_work
from sophron.campaign.planning import campaign_agents
from sophron.campaign.scaffold import campaign_folder
from sophron.campaign.spec.spec import SPEC_NAME, load
from sophron.records import entry_points
from sophron.records.digests import digest
from sophron.records.errors import UserError
from sophron.records.files import write_text
from sophron.records.typed_json import to_json
from sophron.tasks import attempts, collection, folder_tree, harbor_folder, judgement, scifi_markdown
from sophron.tasks.expectations import Expectation
from sophron.tasks.harbor_folder import HarborTask
from sophron.tasks.scifi_markdown import MarkdownTask

TASKS, INPUTS = "tasks", "inputs"
"""Folders of a campaign: its tasks as they were, and in that of a task in Markdown the files that it gives."""
SEED = 1
DEFAULT_ROUNDS = 3
MECHANICAL = {
    "memory_mb": 2000,
    "runtime_min": 30,
    "retries": 1,
    "choices": {},
    "ceilings": {"cores": 1, "memory_mb": 4000, "runtime_min": 60},
}
COMMAND = ("snakemake", "--profile", "none", "--executor", "local", "--keep-going", "--rerun-incomplete", "--nolock")
"""How a campaign of tasks is run on this machine: a task that is not met does not keep others from their end."""
CRITERIA = [
    {"id": "met", "expression": "met == 1", "statement": "Programs find the task met."},
    {"id": "unchanged", "expression": "tests_unchanged == 1", "statement": "Text, tests and files are as signed."},
]


@dataclass(frozen=True)
class Wanted:
    """How tasks are worked on.

    agents: as in campaign.yaml; rounds: attempts that one loop may take, each told of the one before; copies: loops of
    each task that know nothing of each other; reviewer: whether the reviewer judges what no program checks; memory:
    level.
    """

    agents: Mapping[str, Any]
    rounds: int = DEFAULT_ROUNDS
    copies: int = 1
    reviewer: bool = False
    memory: str = "task"


@dataclass(frozen=True)
class Source:
    """A task as a stage.

    below: names of the stages that come first; folder, inputs: of a task in Markdown, where the files that it gives
    are, and path -> sha256.
    """

    stage: str
    name: str
    below: tuple[str, ...]
    task: HarborTask | MarkdownTask
    folder: Path = Path()
    inputs: Mapping[str, str] = field(default_factory=dict)


def worker(backend: str, model: str | None) -> dict[str, Any]:
    """Return who works and reviews, for campaign.yaml; UserError for a backend that is none, or answers by rules."""
    known = [*entry_points.names("sophron.models"), campaign_agents.RANKED]
    if backend not in known:
        raise UserError(f"--agent {backend}: is no agent; known are oracle, nop and the backends {', '.join(known)}")
    if backend == campaign_agents.DEFAULT_BACKEND:
        raise UserError(f"--agent {backend}: {open_work.SENTENCE}")
    own = {"backend": backend} | ({"model": model} if model else {})
    return {"by_name": {name: dict(own) for name in ("task-worker", "task-reviewer")}}


def refusals(tasks: Path) -> dict[str, str]:
    """Return name -> why not, of the tasks that cannot run here."""
    return read(tasks)[1]


def prepare(tasks: Path, folder: Path, wanted: Wanted) -> dict[str, str]:
    """Make the campaign `folder` of a task, or of all tasks below a folder; name -> why it cannot run, of the others.

    UserError if there is something in the folder, or no task can run.
    """
    campaign_folder.check_empty(folder)
    sources, refused = read(tasks)
    if not sources:
        raise UserError(next(iter(refused.values()), f"{tasks}: holds no task"))
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".sophron-", dir=folder.parent) as place:
        draft = Path(place) / folder.name  # whole or absent; a campaign is called as its folder
        draft.mkdir()
        spec = _spec(campaign_folder.campaign_id(folder, "task"), sources, draft, wanted)
        _write(draft, spec)
        campaign_folder.furnish(draft)
        spec["limits"] |= limits_of(draft)
        _write(draft, spec)
        if folder.exists():
            folder.rmdir()
        draft.rename(folder)
    return refused


def _write(folder: Path, spec: Mapping[str, Any]) -> None:
    write_text(folder / SPEC_NAME, yaml.safe_dump(spec, sort_keys=False, width=120, allow_unicode=True))


def read(folder: Path) -> tuple[list[Source], dict[str, str]]:
    """Return the tasks of a file or folder as stages, and name -> why not of those that cannot run here."""
    alone = folder.is_file() or (folder / scifi_markdown.TOP).is_file() or harbor_folder.is_folder_of_task(folder)
    sources: list[Source] = []
    refused: dict[str, str] = {}
    for name, path in ({folder.resolve().stem: folder} if alone else collection.tasks_of(folder)).items():
        if why := collection.why_not(path):
            refused[name] = why
        elif harbor_folder.is_folder_of_task(path):
            sources.append(Source(stage_name(name), name, (), harbor_folder.read(path)))
        else:
            sources += _markdown(scifi_markdown.read(path), stage_name(name))
    return sources, refused


def stage_name(name: str) -> str:
    """Return the name of the stage of a task."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "task"
    return plain if plain[0].isalpha() else f"t_{plain}"


def _markdown(task: MarkdownTask, stage: str) -> list[Source]:
    """Return a task after its sub-tasks; all of them begin with the files of the first one's folder."""
    return [*_nested(task, stage, (), task.path.parent, judgement.given_files(task))]


def _nested(
    task: MarkdownTask, stage: str, first: tuple[str, ...], folder: Path, inputs: Mapping[str, str]
) -> Iterator[Source]:
    """Yield a task after those below it. first: stages that it depends on beside them."""
    names = {sub.name: f"{stage}__{stage_name(sub.name)}" for sub in task.subtasks}
    needs = {sub.name: _first(sub, task.subtasks) for sub in task.subtasks}
    for sub in task.subtasks:
        yield from _nested(sub, names[sub.name], tuple(names[one] for one in needs[sub.name]), folder, inputs)
    used = {one for own in needs.values() for one in own}  # those come by way of who depends on them
    last = tuple(own for name, own in names.items() if name not in used)
    yield Source(stage, task.name, (*last, *first), task, folder, inputs)


def _first(task: MarkdownTask, beside: Sequence[MarkdownTask]) -> tuple[str, ...]:
    """Return the sub-tasks that come before one: those that it names, else those of the rank next below its own."""
    if task.depends_on or (own := _rank(task)) is None:
        return task.depends_on
    lower = [rank for one in beside if (rank := _rank(one)) is not None and rank < own]
    return tuple(one.name for one in beside if lower and _rank(one) == max(lower))


def _rank(task: MarkdownTask) -> int | None:
    text = task.settings.get("rank", "")
    return int(text) if text.isdecimal() else None


def _spec(campaign: str, sources: Sequence[Source], folder: Path, wanted: Wanted) -> dict[str, Any]:
    assumptions: list[dict[str, str]] = []
    stages: dict[str, Any] = {}
    for source in sources:
        definition = _definition(source, folder, wanted, assumptions)
        for number in range(1, wanted.copies + 1):
            tail = f"_{number}" if wanted.copies > 1 else ""
            depends_on = [f"{name}{tail}" for name in source.below]
            stages[f"{source.stage}{tail}"] = {
                "depends_on": depends_on,
                "definition": definition,
                "criteria": CRITERIA,
                "mechanical": MECHANICAL,
            }
    return {
        "campaign": campaign,
        "version": 1,
        "kind": "task",
        "question": {
            "quantity": "whether every task is met",
            "units": "none",
            "ensemble": "none",
            "conditions": {"tasks": len(stages)},
        },
        "method": {"name": "an agent works, programs decide", "assumptions": assumptions},
        "agents": dict(wanted.agents),
        "limits": {"trials": wanted.rounds},
        "seed": SEED,
        "stages": _plain(stages),
    }


def _plain(stages: Mapping[str, Any]) -> dict[str, Any]:
    """Copy shared blocks, which YAML would write as anchors."""
    import json

    return dict(json.loads(json.dumps(stages)))


def _definition(source: Source, folder: Path, wanted: Wanted, assumptions: list[dict[str, str]]) -> dict[str, Any]:
    place = folder / TASKS / source.stage
    common = {"attempts": wanted.rounds, "memory": wanted.memory}
    if isinstance(source.task, HarborTask):
        task = source.task
        shutil.copytree(task.folder, place, symlinks=True)
        own = {"folder": str(place.relative_to(folder)), "folder_digest": digest(dict(task.files))}
        work_s = task.work.timeout_s or attempts.DEFAULT_WORK_S
        return {**own, "instruction": task.instruction, **common, "work_s": work_s}
    markdown, inputs = source.task, dict(source.inputs)
    for name in inputs:
        (place / INPUTS / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.folder / name, place / INPUTS / name)
    given: dict[str, Any] = {}
    if inputs:
        given = {"input_folder": str((place / INPUTS).relative_to(folder)), "inputs": inputs}
    if markdown.tests:
        shutil.copytree(markdown.tests, place / scifi_markdown.TESTS)
        given["tests"] = str((place / scifi_markdown.TESTS).relative_to(folder))
        given["tests_digest"] = digest(folder_tree.digests(markdown.tests))
    limits = {"work_s": markdown.timeout_s, "command_s": markdown.command_s}
    return {
        "instruction": markdown.todo,
        **({"context": markdown.context} if markdown.context else {}),
        **given,
        "expectations": [_sentence(one, source, wanted, assumptions) for one in markdown.expectations],
        **common,
        **{key: value for key, value in limits.items() if value is not None},
    }


def _sentence(one: Expectation, source: Source, wanted: Wanted, assumptions: list[dict[str, str]]) -> dict[str, Any]:
    """One sentence with its programs; without one, the reviewer is to judge it, which a person has to sign for."""
    if one.checks:
        return {"text": one.text, "checks": to_json(one.checks)}
    assumptions.append(
        {
            "id": f"judged-{source.stage.replace('_', '-')}-{one.line}",
            "statement": f"No program checks this sentence of {source.name}, and the reviewer judges it: {one.text}",
            "verified_by": "the person who signs; it never counts as verified by a program",
            "status": "verified" if wanted.reviewer else "UNVERIFIED",
        }
    )
    return {"text": one.text, "judged_by": "reviewer"}


def limits_of(folder: Path) -> dict[str, Any]:
    """Return what the loops may take at most; the person who signs may lower it."""
    spec = load(folder / SPEC_NAME)
    bounds = {name: len(spec.steps(name)) for name in spec.agent_rules}
    whole = campaign_agents.total_cost(one.worst for one in campaign_agents.rule_costs(folder, spec, bounds))
    found = {key: int(whole[key]) for key in ("model_calls", "tokens")} | {"dollars": round(whole["dollars"], 2)}
    return {key: value for key, value in found.items() if value}
