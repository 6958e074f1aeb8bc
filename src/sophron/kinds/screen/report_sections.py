"""Sections of the report of a screen: how each guest ended, the head of the ranking, and the cost of a guest."""

from __future__ import annotations

import csv
from collections import Counter

from sophron.campaign.execution import outcome_store
from sophron.campaign.rendering.formatting import hours, number
from sophron.campaign.report.report import Report
from sophron.campaign.report.report_sections import Section, Table
from sophron.debate.trials.execute_stage_file import PARTS
from sophron.kinds.host_guest import report_sections

MOST_RANKED = 20


def sections(report: Report) -> list[Section]:
    """Return the guests, and remarks on their data.

    Refused if the ranking is not the file that its outcome speaks of.
    """
    stages = {stage.name: stage for stage in report.stages}
    guests = len(stages["analyse"].steps)
    used = sum(stages[part].core_hours for part in PARTS)
    cost = f"{guests:,} guests took {hours(used)} core-hours, {number(used / guests, 3)} each"
    about = Section("Guests", [f"{cost}; no agent takes part in a screen."], [_endings(report), _ranking(report)])
    return [about, *report_sections.data_remarks(report)]


def _endings(report: Report) -> Table:
    """By the first stage of each guest that did not complete; windows of a guest count as one."""
    ends: dict[str, tuple[str, str, str]] = {}
    for stage in report.stages:
        for step in stage.steps if stage.name in PARTS else ():
            result = step.outcome.result
            status = result.get("status", "failed")  # without a result, our own step failed
            if status == "completed":
                continue
            kind = (result.get("failure") or {}).get("kind", step.outcome.reason or "")
            ends.setdefault(step.wildcards["guest"], (stage.name, status, kind))
    counted = Counter(ends.values())
    clean = sum(len(stage.steps) for stage in report.stages if stage.name == PARTS[-1]) - len(ends)
    rows = [["", "clean", "", f"{clean:,}"], *([*about, f"{count:,}"] for about, count in counted.most_common())]
    header = ("stage", "how guests ended", "reason", "guests")
    return Table("How guests ended; those that are not clean, by their first stage that is not.", header, rows, words=3)


def _ranking(report: Report) -> Table:
    (step,) = next(stage for stage in report.stages if stage.name == "rank").steps
    with outcome_store.whole(step).files["ranking"].open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    shown = [
        [row[0], row[1], *(f"{float(value):.2f}" if value else "" for value in row[2:])] for row in rows[:MOST_RANKED]
    ]
    caption = f"The strongest {len(shown)} of {len(rows):,} guests with a number, in kcal/mol; all are in ranking.csv."
    return Table(caption, [name.replace("_", " ") for name in header], shown, words=2)
