"""Section of the report on the guests' data: remarks of the stage `tasks`, each with its guests."""

from __future__ import annotations

from sophron.campaign.report.report import Report
from sophron.campaign.report.report_sections import Section, Table

MOST_REMARKS, MOST_NAMED = 40, 8


def data_remarks(report: Report) -> list[Section]:
    """Return one section, or none if the data contradict nothing."""
    told: dict[str, list[str]] = {}
    for step in [step for stage in report.stages if stage.name == "tasks" for step in stage.steps]:
        for remark in step.outcome.result.get("remarks", []):  # a step that failed has no result
            told.setdefault(remark, []).append(step.wildcards["guest"])
    if not told:
        return []
    common = sorted(told.items(), key=lambda item: -len(item[1]))
    rows = [[remark, _named(guests), f"{len(guests):,}"] for remark, guests in common[:MOST_REMARKS]]
    left = len(common) - len(rows)
    ending = f" {left:,} more are in the outcomes of tasks." if left else ""
    caption = f"What the data contradict, and what was done about it; neither pipelines nor agents are told.{ending}"
    return [Section("Remarks on the data", [], [Table(caption, ("remark", "of", "guests"), rows, words=2)])]


def _named(guests: list[str]) -> str:
    shown = ", ".join(guests[:MOST_NAMED])
    return shown if len(guests) <= MOST_NAMED else f"{shown} and others"
