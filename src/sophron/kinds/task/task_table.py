"""The table of a campaign of tasks: which are met, with which rewards, and what attempts, calls and dollars it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sophron.agents.gateway import ledger
from sophron.campaign.execution import outcome_store
from sophron.campaign.execution.outcome_store import Outcome
from sophron.campaign.planning import campaign_agents
from sophron.campaign.spec.spec import Spec
from sophron.kinds.task.kind import REVIEW, WORK, is_judged, rule_of
from sophron.records import events, typed_json
from sophron.records.errors import shown
from sophron.records.files import write_json, write_text
from sophron.tasks import bench

WORKER = "task-worker"


def write(root: Path, spec: Spec, refused: Mapping[str, str]) -> str:
    """Write `results.json` and `table.md` of a campaign; the table.

    refused: name -> why, of the tasks that are not in it.
    """
    rows = [*rows_of(root, spec), *(_refused(name, why) for name, why in sorted(refused.items()))]
    write_json(root / bench.RESULTS, {"rows": rows, "totals": bench.totals(rows)})
    text = table(rows)
    write_text(root / bench.TABLE, text)
    return text


def rows_of(root: Path, spec: Spec) -> Iterator[dict[str, Any]]:
    """Yield a row for each task, its copies together."""
    copies: dict[str, list[str]] = {}
    for stage in (one.name for one in spec.stages):
        copies.setdefault(_task_of(stage, [one.name for one in spec.stages]), []).append(stage)
    spent, seconds = ledger.spent_by_step(root), _seconds(root)
    who = campaign_agents.chosen(spec.data, WORKER)
    for task, stages in copies.items():
        done = [one for stage in stages if (one := _result(root, stage)) is not None]
        yield {
            "task": task,
            "agent": who.get("model", who["backend"]),
            "refused": "",
            "attempts": len(stages),
            "passed": sum(one["met"] for one in done),
            "rewards": [one["reward"] for one in done],
            "rounds": [one["attempts"] for one in done],
            "judged": max((one["judged"] for one in done), default=int(is_judged(spec.definition(stages[0])))),
            "calls": round(_sum(spent, stages, "calls")),
            "tokens": round(_sum(spent, stages, "tokens")),
            "dollars": _sum(spent, stages, "dollars"),
            "wall_time_s": sum(seconds.get(stage, 0.0) for stage in stages),
            "faults": sorted({one["reason"] for one in done if one["reason"]}),
            "unfinished": len(stages) - len(done),
        }


def _task_of(stage: str, stages: Sequence[str]) -> str:
    """Return the task of a copy `fit_2`: `fit`, if there is `fit_1` and no `fit`."""
    head, _, number = stage.rpartition("_")
    return head if number.isdigit() and f"{head}_1" in stages and head not in stages else stage


def _result(root: Path, stage: str) -> Mapping[str, Any] | None:
    """Return the result of a stage; None if it has none yet, or failed."""
    path = outcome_store.published(root, stage)
    outcome = typed_json.load(path, Outcome) if path else None
    return outcome.result if outcome is not None and outcome.done else None


def _sum(spent: Mapping[str, Mapping[str, float]], stages: Sequence[str], kind: str) -> float:
    rules = {rule_of(step, stage) for step in (WORK, REVIEW) for stage in stages}
    return sum(amount[kind] for step, amount in spent.items() if step.rpartition("-")[0] in rules)


def _seconds(root: Path) -> dict[str, float]:
    """Return stage -> seconds that its agents were asked for, tools included; waits between processes do not count."""
    found: dict[str, float] = {}
    for event in events.read(root)[0]:
        if event["event"] == "agent_answered" and event["step"].startswith((f"{WORK}_", f"{REVIEW}_")):
            stage = event["step"].rpartition("-")[0].partition("_")[2]
            found[stage] = found.get(stage, 0.0) + event.get("wall_s", 0.0)
    return found


def _refused(name: str, why: str) -> dict[str, Any]:
    numbers = {"attempts": 0, "passed": 0, "judged": 0, "calls": 0, "tokens": 0, "dollars": 0.0, "wall_time_s": 0.0}
    return {
        "task": name, "agent": "", "refused": why, "rewards": [], "rounds": [], "faults": [], "unfinished": 0, **numbers
    }  # fmt: skip


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows and totals as Markdown."""
    head = ("task", "agent", "met", "reward", "rounds", "calls", "dollars", "seconds", "notes")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        met = f"{row['passed']}/{row['attempts']}" if not row["refused"] else "refused"
        rewards = ", ".join("none" if reward is None else f"{reward:g}" for reward in row["rewards"])
        cost = [f"{row['calls']}", f"{row['dollars']:.2f}", f"{row['wall_time_s']:.0f}"]
        rounds = ", ".join(map(str, row["rounds"]))
        lines.append(f"| {' | '.join([row['task'], row['agent'], met, rewards, rounds, *cost, _note(row)])} |")
    for agent, sums in bench.totals([row for row in rows if not row["refused"]]).items():
        low, high = sums["interval"] or (0.0, 1.0)
        dollars = sum(row["dollars"] for row in rows)
        lines.append(
            f"\n{agent}: {sums['passed']} of {sums['attempts']} attempts at {sums['tasks']} tasks met "
            f"(95 % interval {low:.2f} to {high:.2f}); {sum(row['calls'] for row in rows)} calls, {dollars:.2f} dollars"
        )
    return "\n".join(lines) + "\n"


def _note(row: Mapping[str, Any]) -> str:
    unfinished = [f"{row['unfinished']} not ended"] if row["unfinished"] else []
    judged = [f"{row['judged']} sentences judged by the reviewer, not verified"] if row["judged"] else []
    said = "; ".join([*([row["refused"]] if row["refused"] else []), *unfinished, *row["faults"], *judged])
    return shown(said, bench.MOST_NOTE).replace("|", "/")
