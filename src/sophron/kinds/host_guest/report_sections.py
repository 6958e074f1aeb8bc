"""Sections of the report on trials: how each ended, its reward and its cost, figure 3, remarks on the data."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from sophron.agents.gateway.ledger import Amount
from sophron.campaign.report.report import Report
from sophron.campaign.report.report_sections import Picture, Section, Table
from sophron.debate.trials import repaired_failure, trial_figures
from sophron.debate.trials.ablation_campaigns import HEADER, NONE, SCORES_HEADER, Rung
from sophron.debate.trials.scores import LEAST_GUESTS
from sophron.debate.trials.trial_loop import Failure, Trial

MEANINGS = {
    Failure.LAYER1: "refused unrun by the mechanical check",
    Failure.CRASH: "a stage crashed, in the rehearsal or on a training guest",
    Failure.REFUSAL: "nothing crashed, and an analysis refused a number",
    Failure.CLEAN: "a number for every training guest",
}
FIGURE = (
    "Training rank correlation by trial, dollars and tokens of the agents up to each trial, and how trials ended "
    "(figures 3a to c of MDForge). Open marks are the held-out guests: for the deployed pipeline, at the right end, or "
    "by trial if the campaign has every pipeline run on them once the loop is over, when they decide nothing."
)


def sections(report: Report) -> list[Section]:
    """Return trials with rewards and costs, the row of `sophron trials show`, figures 3a to c, a mended failure."""
    rung = Rung.of(report.root, report.spec)
    mended = repaired_failure.find(report.root, report.spec, rung.trials)
    drawn: list[tuple[str, Callable[[Path], None]]] = [(FIGURE, lambda path: trial_figures.ladder([rung], path))]
    if mended:
        caption = f"One failure from its diagnostics to its edit (figure 3d of MDForge). {mended.sentence}"
        drawn.append((caption, lambda path: trial_figures.mended(mended, path)))
    said = [_cost(rung), *([] if mended else [repaired_failure.NONE])]
    pictures = [Picture(caption, svg) for caption, draw in drawn if (svg := _svg(draw))]
    if not pictures:
        said.append("Figures are left out: matplotlib is not installed (pip install 'sophron[md]').")
    about = Section("Trials", said, [_trials(rung), _endings(rung), _scores(rung), _row(rung)], pictures)
    return [about, *data_remarks(report)]


def _cost(rung: Rung) -> str:
    spent, count = rung.spent[-1], f"{len(rung.trials)} trial{'' if len(rung.trials) == 1 else 's'}"
    if not spent["calls"]:
        return f"{count}; rules of thumb answered for all agents, which costs nothing."
    calls, tokens, dollars = _amount(spent)
    return f"{count}, for which agents made {calls} calls with {tokens} tokens, for {dollars} US dollars in all."


def _trials(rung: Rung) -> Table:
    rows = [
        [str(trial.number), trial.failure.value, *_worth(trial), *_amount(spent)]
        for trial, spent in zip(rung.trials, rung.spent_in, strict=True)
    ]
    caption = (
        "Each trial. The reward is minus the mean absolute error over the training guests with a number, in kcal/mol; "
        "the panel is that after the run; calls, tokens (in and out) and US dollars are those of all agents, the "
        "discussion counted to the first trial."
    )
    header = ("trial", "how it ended", "panel", "numbers", "reward", "Kendall tau", "calls", "tokens", "dollars")
    return Table(caption, header, rows, ["together", *[""] * 5, *_amount(rung.spent[-1])], words=3)


def _worth(trial: Trial) -> list[str]:
    panel = NONE if trial.label is None else f"{trial.label.value} ({trial.score:.2f})"
    guests = trial.scores.guests if trial.scores else 0
    tau = trial.scores.kendall if trial.scores else None
    return [
        panel,
        f"{guests} of {trial.wanted}",
        *(NONE if each is None else f"{each:.2f}" for each in (trial.reward, tau)),
    ]


def _amount(spent: Amount) -> list[str]:
    return [f"{spent['calls']:,.0f}", f"{spent['tokens']:,.0f}", f"{spent['dollars']:,.2f}"]


def _endings(rung: Rung) -> Table:
    rows = [[kind.value, MEANINGS[kind], str(count)] for kind, count in rung.failures.items()]
    return Table("How trials ended.", ("type", "which is", "trials"), rows, words=2)


def _scores(rung: Rung) -> Table:
    caption = (
        "The deployed pipeline against the references. n is how many guests have a number; R2 has the sign of the "
        "correlation; MAE is in kcal/mol; tau counts guests without a number as neither right nor wrong. The "
        "range is the central 95 % over resampled guests, too narrow below about ten of them. "
        f"Below {LEAST_GUESTS} guests there is neither an interval nor a correlation."
    )
    return Table(caption, SCORES_HEADER, rung.score_rows, words=3)


def _row(rung: Rung) -> Table:
    return Table(
        "The method in the form of table 1 of MDForge, as of sophron trials show.", HEADER, [rung.row], words=2
    )


def _svg(draw: Callable[[Path], None]) -> bytes:
    """The picture that `draw` makes; empty if matplotlib is not installed, which no report depends on."""
    if find_spec("matplotlib") is None:
        return b""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.svg"
        draw(path)
        return path.read_bytes()


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
