"""The campaign kind task: each task of campaign.yaml is a stage, and a loop work -> assess -> review behind a pre-scan.

Rounds are attempts, counted from 1 up to the signed bound. A sub-task is a stage that its parent depends on, so that a
parent begins only when all below it are accepted, and independent ones run side by side. Rules are called after their
stage: `work_fit`. Read by every verb at start-up, so it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sophron.interfaces import JsonObject
from sophron.interfaces.kind import AgentRule, Definition, Kind, Part, Question, StageKind

PRESCAN, WORK, ASSESS, REVIEW, CONCLUDE = "prescan", "work", "assess", "review", "conclude"
TREE, MANIFEST, CALLS = "tree", "manifest", "calls"
FILES = {TREE: "work.tar", MANIFEST: "manifest.json", CALLS: "tool_calls.jsonl"}
"""What an attempt leaves: its frozen tree, path -> sha256, and the calls of its tools."""
MODULE = "sophron.kinds.task.stages"


def rule_of(step: str, stage: str) -> str:
    """Return the name of a rule of a stage's loop."""
    return f"{step}_{stage}"


def stages(blocks: Mapping[str, JsonObject]) -> tuple[StageKind, ...]:
    """Return the tasks that campaign.yaml names, each after those that it depends on as far as they are there."""
    ordered: dict[str, StageKind] = {}
    waiting = {name: list(block.get("depends_on", [])) for name, block in blocks.items()}
    while waiting:
        ready = [name for name, needs in waiting.items() if not any(need in waiting for need in needs)] or [*waiting]
        for name in ready:
            ordered[name] = _stage(name, tuple(waiting.pop(name)))
    return tuple(ordered.values())


def _stage(name: str, depends_on: tuple[str, ...]) -> StageKind:
    prescan, work, assess, review, conclude = (
        rule_of(step, name) for step in (PRESCAN, WORK, ASSESS, REVIEW, CONCLUDE)
    )
    scanned = {TREE: FILES[TREE], MANIFEST: FILES[MANIFEST], "environment": "environment.json"}
    found = {"findings": "findings.json", "log": "test-stdout.txt"}
    return StageKind(
        name=name,
        depends_on=depends_on,
        run=f"{MODULE}:task",
        schema="task/task",
        outputs={TREE: FILES[TREE], "history": "history.json"},
        parts=(
            Part(prescan, f"{MODULE}:prescan", "task/prescan", (), scanned, builds_on=depends_on),
            Part(assess, f"{MODULE}:assess", "task/assess", ("round",), found, builds_on=(prescan, work)),
            Part(
                conclude,
                f"{MODULE}:conclude",
                "task/conclude",
                ("round",),
                outputs={"history": "history.json"},
                builds_on=(work, assess, review),
                carried=(conclude,),
            ),
        ),
        agents=(
            AgentRule(work, ("round",), bounded=True, may_fail=True, asks="task-worker", inputs="task_work"),
            AgentRule(review, ("round",), bounded=True, may_fail=True, asks="task-reviewer", inputs="task_review"),
        ),
        builds_on=(prescan, work, assess, conclude),
    )


def ranges(definitions: Mapping[str, Definition]) -> Mapping[str, Sequence[str]]:
    """`round`: the attempts of the task that may take most of them; each task stops at its own bound."""
    most = max((about["attempts"] for about in definitions.values()), default=1)
    return {"round": [str(number) for number in range(1, most + 1)]}


def is_judged(definition: Definition) -> bool:
    """Return whether a sentence of a task was signed as the reviewer's to judge."""
    return any("judged_by" in one for one in definition.get("expectations", ()))


def left_out(definitions: Mapping[str, Definition]) -> Collection[str]:
    """Return the rules that a task goes without: its reviewer, if nothing was signed as the reviewer's to judge."""
    return [rule_of(REVIEW, name) for name, about in definitions.items() if not is_judged(about)]


def question(_definitions: Mapping[str, Definition]) -> Question:
    """Whether the tasks are met: a yes or no without a unit."""
    return Question({"whether every task is met": "none"}, {"tasks": "none"})


KIND = Kind(
    name="task",
    rules="task.smk",
    stages=(),
    ranges=ranges,
    stages_of=stages,
    left_out=left_out,
    question=question,
    about="Work of an agent that programs judge; its tasks are Harbor folders or Markdown",
)
