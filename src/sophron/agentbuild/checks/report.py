"""The parts, the uncertainties and the scope of a report of a refinement."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sophron.agentbuild.checks import procedure
from sophron.agentbuild.rubric import CaseRun, Checked, Fault, Json, grave, is_explained, minor
from sophron.interfaces.rietveld import group_of

SPEAKS_TO_THE_JUDGE = re.compile(
    r"\b(judge|judges|grader|evaluator|rubric|scorecard|full (marks|score)|as an ai|system prompt"
    r"|(ignore|disregard|forget)\b.{0,40}\b(instruction|prompt|previous|above)"
    r"|(score|rate|grade|award|assign) (this|the|it|me|all))\b",
    flags=re.IGNORECASE | re.DOTALL,
)
"""What a report of a refinement has no reason to say: it is data for the judge, and never a word to it."""
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def uncertainty(run: CaseRun, parameters: Json) -> Checked:
    """Every refined parameter has its deviation; caveats and, if the counts are low, alternatives are stated.

    parameters: `caveats`, how many at least; `high_confidence_expected_percent`, the expected R factor above which
    nobody is highly confident.
    """
    report = run.report or {}
    faults = [*_deviations(report)]
    said = [text for text in report["caveats"] if text.strip()]
    others = [text for text in report["alternatives"] if text.strip()]
    if not any(one["claimed"] for one in report["phases"]) and not others:
        faults.append(grave("unexplained_untold", "no phase is claimed, and no alternative says what else it may be"))
    if len(set(said)) < parameters["caveats"]:
        how = minor if others else grave
        faults.append(how("caveats_absent", f"{len(set(said))} caveats, {len(others)} alternatives are stated"))
    fit = report.get("fit")
    if fit and fit["r_expected_percent"] > parameters["high_confidence_expected_percent"]:
        if report["confidence"] == "high":
            faults.append(grave("confidence_unfounded", "high confidence at so few counts"))
        if not report["alternatives"]:
            faults.append(minor("alternatives_absent", "no alternative is named at so few counts"))
    return Checked(tuple(faults), f"{len(said)} caveats, confidence {report['confidence']}")


def _deviations(report: Json) -> Iterator[Fault]:
    """Of each group that was free some parameter has one; others may be fixed by symmetry, or listed though held."""
    groups = {one["group"] for one in report["refined"]["groups"]}
    sure = {group_of(one["name"]) for one in report["refined"]["parameters"] if one["esd"]}
    bare = sorted(groups - sure)
    if bare:
        yield grave("esd_absent", f"{', '.join(bare)} was refined, and no parameter of it has a deviation")
    for phase in report["phases"]:
        refined = phase["in_model"] and phase["role"] == "main" and "cell" in groups
        if refined and not any(axis["esd"] for axis in phase["cell"].values()):
            yield grave("esd_absent", f"the cell of {phase['name']} was refined and has no deviation")


def structure(run: CaseRun, parameters: Json) -> Checked:
    """The report has its elements, reads its plots, names no number of its own, and does not speak to its judge.

    parameters: `summary_words` and `reading_words`, how long the summary and the reading of a plot are at least.
    """
    report = run.report or {}
    faults = [*_addressed(report), *_elements(report, parameters), *_numbers(report)]
    return Checked(tuple(faults), f"{len(report['plots'])} readings of plots, {len(report['decisions'])} decisions")


def texts(value: Any) -> Iterator[str]:
    """All texts in plain data, keys too: a key may speak as well as a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from texts(key)
            yield from texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from texts(part)


def _addressed(report: Json) -> Iterator[Fault]:
    for text in texts(report):
        if SPEAKS_TO_THE_JUDGE.search(text):
            yield grave("speaks_to_the_judge", "a text of the report speaks to its reader as a judge")
            return


def _elements(report: Json, parameters: Json) -> Iterator[Fault]:
    for key in ("decisions", "plots", "held"):
        if not report[key]:
            yield grave(f"{key}_absent", f"the report has no {key}", element=key)
    words = len(report["summary"].split())
    if words < parameters["summary_words"]:
        yield minor("summary_short", f"the summary has {words} words", wanted=parameters["summary_words"])
    # The same range in two states may well look the same; two ranges do not.
    seen = {(one["low_deg"], one["high_deg"]): one["reading"] for one in report["plots"]}
    readings = [reading.strip().casefold() for reading in seen.values()]
    if any(len(reading.split()) < parameters["reading_words"] for reading in readings):
        yield minor("reading_short", "a plot is read in a word or two", wanted=parameters["reading_words"])
    if len(set(readings)) < len(readings):
        yield grave("readings_repeated", "two ranges are read in the same words")


def _numbers(report: Json) -> Iterator[Fault]:
    """A number with decimals in the summary is one of the fields: prose explains, it adds nothing."""
    known = [abs(value) for value in _figures({key: part for key, part in report.items() if key != "summary"})]
    for text in NUMBER.findall(report["summary"]):
        places = len(text.partition(".")[2])
        if places and not any(_is_said(float(text), value, places) for value in known):
            yield minor("number_of_its_own", f"{text} stands in the summary and in no field")
            return


def _is_said(said: float, value: float, places: int) -> bool:
    """Whether a text is a field rounded to its places, as it is, in per cent, or in parts per million."""
    return any(abs(said - value * unit) <= 0.51 * 10**-places for unit in (1.0, 100.0, 0.01, 1e6))


def _figures(value: Any) -> Iterator[float]:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, str):
        yield from map(float, NUMBER.findall(value))
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _figures(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _figures(part)


def scope(run: CaseRun, parameters: Json) -> Checked:
    """On the way to the reported state nothing was free that the reference does not allow; what it asks for was.

    parameters: none are read. The reference's `scope` has `may` (groups beyond which nothing is free in a main phase),
    `candidate` (the same for a phase that may be there), `must` (groups that a competent analysis frees), `most`
    (variables of the reported model) and `weights` (where the variances must come from).
    """
    del parameters
    wanted, report = run.reference["scope"], run.report or {}
    trajectory = run.trajectory or {"calls": [], "states": []}
    unfitted = report["fit"] is None and not is_explained(run.reference)
    way = [] if unfitted else procedure.way(trajectory, report["state"])
    roles = {one["name"]: one["role"] for one in report["phases"]}
    freed = {one for cycle in way for one in cycle.freed}
    said = ", ".join(sorted({group for group, _ in freed}))
    faults = [
        *_beyond(freed, wanted, roles, run),
        *(() if unfitted else _short(freed, wanted, run)),
        *_reported(report, way),
        *_counted(report, wanted),
        *_weighed(trajectory, report, wanted, run),
    ]
    counts = procedure.counts(trajectory)
    return Checked(tuple(faults), f"free on the way: {said or 'nothing'}", {} if counts is None else {"counts": counts})


def _counts(run: CaseRun) -> Json:
    """How good the pattern is, so that a fault says at which counts it is one."""
    return {"counts": procedure.counts(run.trajectory or {"calls": []})}


def _beyond(freed: set[procedure.Freed], wanted: Json, roles: Mapping[str, str], run: CaseRun) -> Iterator[Fault]:
    for group, phase in sorted(freed, key=str):
        role = roles.get(phase or "", "main")
        allowed = wanted["candidate"] if role == "candidate" else wanted["may"]
        if group not in allowed:
            whose = f" of {phase}" if phase else ""
            yield grave(
                "freed_beyond",
                f"{group}{whose} was free, beyond what these counts allow",
                group=group,
                role=role,
                **_counts(run),
            )


def _short(freed: set[procedure.Freed], wanted: Json, run: CaseRun) -> Iterator[Fault]:
    groups = {group for group, _ in freed}
    for group in wanted["must"]:
        if group not in groups:
            yield grave(
                "freed_short", f"{group} was never free, and these counts ask for it", group=group, **_counts(run)
            )


def _reported(report: Json, way: list[procedure.Cycle]) -> Iterator[Fault]:
    """What the report says was free is what was free in the cycle that made its state."""
    told = {(one["group"], one["phase"]) for one in report["refined"]["groups"]}
    last = way[-1].freed if way else frozenset()
    if told != last:
        yield grave("freed_untold", f"the report speaks of {len(told)} groups, the tools freed {len(last)}")


def _counted(report: Json, wanted: Json) -> Iterator[Fault]:
    count = report["refined"]["count"]
    if count > wanted["most"]:
        yield grave("variables_many", f"{count} variables in the reported model", count=count)


def _weighed(trajectory: Json, report: Json, wanted: Json, run: CaseRun) -> Iterator[Fault]:
    state = procedure.state(trajectory, report["state"])
    if wanted.get("weights") and (state is None or state["weights"] != wanted["weights"]):
        said = "unknown" if state is None else state["weights"]
        yield grave(
            "weights", f"weights are {said}, these counts ask for {wanted['weights']}", weights=said, **_counts(run)
        )
