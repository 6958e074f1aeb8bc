"""The report as one self-contained HTML page: question and answer first, then everything that stands behind it."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from sophron.campaign.execution.tries import core_hours
from sophron.campaign.execution.verdict import JudgedCriterion
from sophron.campaign.rendering import html, stage_graph_svg
from sophron.campaign.rendering.formatting import duration, hours, interval, number, plain, short, with_error
from sophron.campaign.report import report
from sophron.campaign.report.report import Answer, Loop, Plot, Ran, Report, StageReport
from sophron.campaign.report.report_sections import Picture, Section, Table
from sophron.campaign.spec import criteria_review

LISTED = 60
LISTED_RESULTS = 12
LISTED_TROUBLES = 100
DIGITS = 6


def render(
    gathered: Report,
    caveats: Mapping[str, Any],
    sections: Sequence[Section] = (),
    spent: Mapping[str, float] | None = None,
) -> str:
    """Return the page.

    caveats: the answer file of the report agent; sections: what the kind adds to it; spent: on models, by limit of a
    campaign.
    """
    spec = gathered.spec
    answering = {answer.step.outcome.stage for answer in gathered.answers}
    final = {stage.name for stage in gathered.final_stages}
    return html.render(
        "report.html.j2",
        {
            "report": gathered,
            "caveats": caveats,
            "spent": spent,
            "spec": spec,
            "data": spec.data,
            "labels": criteria_review.labels,
            "answers": [_answer(answer, gathered) for answer in gathered.answers],
            "plots": [_plot(plot) for plot in gathered.plots],
            "sections": sections,
            "source": _source,
            "loop_table": loop_table,
            "loop_bound": lambda stage: loop_bound(gathered, stage),
            "shown_results": [stage for stage in gathered.stages if stage.name in answering | final],
            "picture": html.picture(stage_graph_svg.svg(_nodes(gathered), f"Stages of {spec.campaign}")),
            "in_force": gathered.chain[-1],
            "totals": _totals(gathered),
            "compared": compared,
            "value": _value,
            "nested": _nested,
            "stage_cost": stage_cost,
            "core_hours": core_hours,
            "listed": LISTED,
            "listed_results": LISTED_RESULTS,
            "listed_troubles": LISTED_TROUBLES,
        },
    )


def _answer(answer: Answer, gathered: Report) -> dict[str, object]:
    reference = gathered.spec.data["question"].get("reference")
    between = None
    if answer.interval:
        low, high, level = answer.interval
        between = f"{100 * level:g} % interval: {interval(low, high)}."
    return {
        "number": None if answer.value is None else with_error(answer.value, answer.standard_error),
        "units": answer.units,
        "error": answer.standard_error,
        "interval": between,
        "refusal": answer.refusal,
        "subject": answer.subject,
        "remark": answer.remark,
        "description": answer.description,
        "name": answer.name,
        "step": answer.step.step,
        "comparison": report.comparison(answer, reference) if reference else None,
    }


def _plot(plot: Plot) -> dict[str, str]:
    return {"source": _embedded(plot.media, plot.path.read_bytes()), "caption": plot.caption, "step": plot.step}


def _source(picture: Picture) -> str:
    return _embedded(report.MEDIA[".svg"], picture.svg)


def _embedded(media: str, data: bytes) -> str:
    return f"data:{media};base64,{base64.b64encode(data).decode()}"


def _nodes(gathered: Report) -> list[stage_graph_svg.Node]:
    nodes = []
    for stage in gathered.stages:
        count = len(stage.steps)
        notes = [f"{count:,} step{'' if count == 1 else 's'}, {stage.verdict.verdict}"]
        notes.append(f"{hours(stage.core_hours)} core-hours")
        title = f"{stage.name}, definition {short(gathered.spec.definition_digest(stage.name))}"
        nodes.append(stage_graph_svg.Node(stage.name, stage.kind.depends_on, notes, stage.verdict.verdict, title))
    return nodes


def _totals(gathered: Report) -> dict[str, object]:
    tries = [one for stage in gathered.stages for one in stage.all_tries]
    looped = [stage.loop.whole for stage in gathered.stages if stage.loop]
    return {
        "steps": sum(len(stage.steps) for stage in gathered.stages) + sum(each.steps for each in looped),
        "tries": len(tries) + sum(each.tries for each in looped),
        "core_hours": sum(stage.core_hours for stage in gathered.stages),
        "criteria": sum(len(stage.verdict.criteria) for stage in gathered.stages),
        "first": min((one.started for one in tries), default=None),
        "last": gathered.ended,
    }


def compared(criterion: JudgedCriterion) -> list[tuple[str, str, str]]:
    """(comparison, its left side, its right side) over all steps: one number, or the span from least to largest."""
    sides: dict[str, tuple[list[Any], list[Any]]] = {}
    for step in criterion.steps:
        for comparison in step.comparisons:
            left, right = sides.setdefault(comparison.text, ([], []))
            left.append(comparison.left)
            right.append(comparison.right)
    return [(text, _span(left), _span(right)) for text, (left, right) in sides.items()]


def _span(values: Sequence[Any]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "no number"
    low, high = min(known), max(known)
    shown = _value(low) if low == high else f"{number(low)} … {number(high)}"
    return shown if len(known) == len(values) else f"{shown}, {len(values) - len(known)} without a number"


def _value(value: Any) -> str:
    return number(value, DIGITS) if isinstance(value, float) else plain(value)


def _nested(value: Any) -> str:
    """The word "table" for a list of mappings, which gets a table of its own; empty for what fits into a cell."""
    return "table" if isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value) else ""


def stage_cost(stage: StageReport) -> dict[str, object]:
    """Return the tries of its own steps by how they ended, and what they used; its loop is counted apart."""
    ended: dict[str, int] = {}
    for one in stage.all_tries:
        ended[one.status] = ended.get(one.status, 0) + 1
    used = core_hours(stage.all_tries)
    return {"ended": dict(sorted(ended.items())), "tries": len(stage.all_tries), "core_hours": used}


def loop_bound(gathered: Report, stage: StageReport) -> float:
    """Core-hours that the loop of a stage may take: ceilings x attempts of as many steps as the approval signs."""
    signed = gathered.chain[-1].record.templates
    parts = [part.name for part in stage.kind.parts if part.name in signed]
    return float(sum(signed[name].bound * gathered.spec.mechanical(name).core_hours() for name in parts))


def loop_table(stage: str, loop: Loop) -> Table:
    """Return one row a round of the loop of `stage`: steps and wall time of each unit, then of the round in all."""
    rows = [
        [number, *(_ran(units.get(unit)) for unit in loop.units), *_whole(loop.of_round(number))]
        for number, units in loop.ran.items()
    ]
    caption = (
        f"Parts of the loop of {stage}: steps that began, and how long at least one of them ran (h:min:s); of agents, "
        "those that were answered. Without a time: less than a second, or killed. Superseded versions are counted too."
    )
    return Table(
        caption,
        [loop.counter, *(unit.replace("_", " ") for unit in loop.units), "wall time", "core-hours"],
        rows,
        ["together", *(_ran(loop.of_unit(unit)) for unit in loop.units), *_whole(loop.whole)],
    )


def _whole(ran: Ran) -> tuple[str, str]:
    return duration(ran.wall_s), hours(ran.core_seconds / 3600)


def _ran(ran: Ran | None) -> str:
    if ran is None:
        return ""
    again = f" ({ran.tries:,} tries)" if ran.tries > ran.steps else ""
    return f"{ran.steps:,}{again}" + (f" in {duration(ran.wall_s)}" if ran.wall_s >= 0.5 else "")
