"""The campaign kind task: each task of campaign.yaml is a stage, and a loop pre-scan -> work -> assess -> review.

Rounds are attempts, counted from 1 up to the signed bound. A sub-task is a stage that its parent depends on, so that a
parent begins only when all below it are accepted, and independent ones run side by side. Rules are called after their
stage: `work_fit`. Read by every verb at start-up, so it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sophron.interfaces import JsonObject
from sophron.interfaces.kind import AgentRule, Definition, Kind, Part, StageKind

PRESCAN, WORK, ASSESS, REVIEW, CONCLUDE = "prescan", "work", "assess", "review", "conclude"
WORKED = {"tree": "tree.tar", "manifest": "manifest.json"}
"""What an attempt leaves: its frozen tree, and path -> sha256."""


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
    return StageKind(
        name=name,
        depends_on=depends_on,
        run="sophron.kinds.task.stages:task",
        schema="task/task",
        outputs={"work": WORKED["tree"], "history": "history.json"},
        parts=(
            Part(
                assess,
                "sophron.kinds.task.stages:assess",
                "task/assess",
                ("round",),
                outputs={"findings": "findings.json", "log": "test-stdout.txt"},
                builds_on=(work,),
            ),
            Part(
                conclude,
                "sophron.kinds.task.stages:conclude",
                "task/conclude",
                ("round",),
                outputs={"history": "history.json"},
                builds_on=(work, assess, review),
                carried=(conclude,),
            ),
        ),
        agents=(
            AgentRule(prescan, ("round",), bounded=True, may_fail=True, asks="task-prescan", inputs="task_prescan"),
            AgentRule(work, ("round",), bounded=True, may_fail=True, asks="task-worker", inputs="task_work"),
            AgentRule(review, ("round",), bounded=True, may_fail=True, asks="task-reviewer", inputs="task_review"),
        ),
        builds_on=(conclude,),
    )


def ranges(definitions: Mapping[str, Definition]) -> Mapping[str, Sequence[str]]:
    """`round`: the attempts of the task that may take most of them; each task stops at its own bound."""
    most = max((about["attempts"] for about in definitions.values()), default=1)
    return {"round": [str(number) for number in range(1, most + 1)]}


def left_out(definitions: Mapping[str, Definition]) -> Collection[str]:
    """Return the rules that a task goes without: its pre-scan, unless it is wanted."""
    return [rule_of(PRESCAN, name) for name, about in definitions.items() if not about.get("prescan", True)]


KIND = Kind(
    name="task",
    rules="task.smk",
    stages=(),
    ranges=ranges,
    stages_of=stages,
    left_out=left_out,
    about="Work of an agent that programs judge; its tasks are Harbor folders or Markdown",
)
