"""Figures of a trial loop: scores and outcomes of the trials, reputation, and a mended failure (MDForge, figure 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.debate.panel.reputation import Reputation
from sophron.debate.panel.votes import Label
from sophron.debate.trials.trial_loop import Failure, Trial
from sophron.records import sanitize

if TYPE_CHECKING:
    from sophron.debate.trials.ablation_campaigns import Rung
    from sophron.debate.trials.repaired_failure import Mended

MARKS = ("o-", "s--", "^:", "v-.", "D-", "P--", "X:", "*-.")
"""One a method: readers tell them apart without colours too."""
MOST_LINES, LONGEST_LINE, LINE_INCHES = 30, 120, 0.17
"""Of a diff in a picture: lines, characters of one, and its height."""


def trials(made: Sequence[Trial], entries: Sequence[Mapping[str, Reputation]], path: Path) -> None:
    """Training Kendall tau by trial, how each trial ended, and reputation after each one that counted; SVG."""
    from sophron.science.figures import BLUE, saved_figure

    colours = _colours()
    with saved_figure(path, width=9.0, height=3.2) as figure:
        ranks, ended, trust = figure.subplots(1, 3)
        scored = [
            (each.number, each.scores.kendall) for each in made if each.scores and each.scores.kendall is not None
        ]
        ranks.plot([number for number, _ in scored], [tau for _, tau in scored], "o-", color=BLUE)
        ranks.set(title="Training rank correlation", xlabel="trial", ylabel="Kendall tau", ylim=(-1.05, 1.05))
        kinds = [each.failure for each in made]
        ended.bar(
            [kind.value for kind in colours], [kinds.count(kind) for kind in colours], color=list(colours.values())
        )
        ended.set(title="How trials ended", ylabel="trials")
        ended.set_xticks(range(len(colours)), [kind.value for kind in colours], rotation=30, ha="right")
        for style, expert in zip(("o-", "s--", "^:"), sorted(entries[0]), strict=False):
            trust.plot([entry[expert].mean for entry in entries], style, label=expert)
        trust.set(title="Reputation", xlabel="trials that counted", ylabel="posterior mean", ylim=(0, 1))
        ranks.set(xlim=(-0.5, max(len(made), 1) - 0.5))  # alone, one trial would stand on an axis of fractions
        for axis in (ranks.xaxis, ended.yaxis, trust.xaxis):
            axis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        trust.legend()


def _colours() -> dict[Failure, str]:
    from sophron.science.figures import BLUE, GREEN, GREY, VERMILION

    return {Failure.CLEAN: GREEN, Failure.REFUSAL: BLUE, Failure.CRASH: VERMILION, Failure.LAYER1: GREY}


def ladder(rungs: Sequence[Rung], path: Path) -> None:
    """Figure 3 of MDForge for several methods: rank correlation by trial, spend up to each, how trials ended; SVG.

    The correlation is that of the training guests. Open marks are that of the held-out guests: of each trial's
    pipeline if the campaign had them run there after the loop, else of the deployed one, at the right end.
    """
    from sophron.science.figures import saved_figure

    with saved_figure(path, width=13.0, height=4.2) as figure:
        ranks, dollars, tokens, ended = figure.subplots(1, 4)
        for mark, rung in zip(MARKS, rungs, strict=False):
            numbers = [trial.number for trial in rung.trials]
            taus = [trial.scores.kendall if trial.scores else None for trial in rung.trials]
            drawn = ranks.plot(numbers, [float("nan") if tau is None else tau for tau in taus], mark)[0]
            open_marks = {"color": drawn.get_color(), "markerfacecolor": "none", "ms": 9}
            ranks.plot(*_held_out(rung), "o:", **open_marks)
            for axes, kind in ((dollars, "dollars"), (tokens, "tokens")):
                spent = [each[kind] for each in rung.spent]
                axes.plot(numbers, spent, mark, color=drawn.get_color(), label=rung.method)
        ranks.set(title="Rank correlation, open: held-out", xlabel="trial", ylabel="Kendall tau", ylim=(-1.05, 1.05))
        dollars.set(title="Spend", xlabel="trial", ylabel="US dollars, cumulative")
        tokens.set(title="Tokens", xlabel="trial", ylabel="tokens, cumulative")
        last = max(len(rung.trials) for rung in rungs)
        for axes in (ranks, dollars, tokens):
            axes.set(xlim=(-0.5, last), xticks=range(last))
        figure.legend(*dollars.get_legend_handles_labels(), loc="outside lower left", ncols=4)
        _endings(ended, rungs)
        figure.legend(*ended.get_legend_handles_labels(), loc="outside lower right", ncols=2)


def _held_out(rung: Rung) -> tuple[list[float], list[float]]:
    """Places on the axis of trials, and Kendall tau of the held-out guests there where it is defined."""
    by_trial = rung.result.held_out_by_trial
    last = {rung.trials[-1].number + 0.5: rung.result.held_out} if rung.trials else {}
    places = last if by_trial is None else {float(number): scores for number, scores in by_trial.items()}
    taus = {place: scores.kendall for place, scores in places.items() if scores and scores.kendall is not None}
    return list(taus), list(taus.values())


def _endings(axes: Any, rungs: Sequence[Rung]) -> None:
    """One bar a method: parts of its trials by how they ended."""
    names, left = [rung.method for rung in rungs], [0.0] * len(rungs)
    for kind, colour in _colours().items():
        parts = [100 * rung.failures[kind] / len(rung.trials) for rung in rungs]
        axes.barh(names, parts, left=left, color=colour, label=kind.value)
        left = [done + part for done, part in zip(left, parts, strict=True)]
    axes.set(title="How trials ended", xlabel="trials / %", xlim=(0, 100))
    axes.invert_yaxis()


def mended(found: Mended, path: Path) -> None:
    """Figure 3d of MDForge: overlaps of a trial and of the next one, the panel between them, and the edit; SVG."""
    from sophron.science.figures import saved_figure

    shown = _shortened(found.edit)
    height = 3.6 + 0.5 + LINE_INCHES * len(shown)
    with saved_figure(path, width=11.0, height=height) as figure:
        axes = figure.subplot_mosaic([["overlaps", "votes"], ["edit", "edit"]], height_ratios=[3.6, height - 3.6])
        _overlaps(axes["overlaps"], found)
        _votes(axes["votes"], found)
        _diff(axes["edit"], found, shown)


def _overlaps(axes: Any, found: Mended) -> None:
    from sophron.science.estimators.mbar import LEAST_OVERLAP
    from sophron.science.figures import GREEN, GREY, VERMILION

    for one, colour, style in ((found.before, VERMILION, "s--"), (found.after, GREEN, "o-")):
        label = f"trial {one.trial.number}, {one.trial.failure.value}"
        for values in one.overlaps.values():
            axes.plot(range(len(values)), values, style, ms=4, color=colour, label=label)
            label = ""  # one entry a trial; its guests share it
    axes.axhline(LEAST_OVERLAP, color=GREY, lw=1, ls=":", label=f"guard, {LEAST_OVERLAP:g}")
    axes.set_yscale("symlog", linthresh=1e-3)
    axes.set(ylim=(0, 0.6), xlabel="window that the analysis used, one line a guest", ylabel="overlap with the next")
    axes.set_title(f"1. Diagnostics: {', '.join(found.before.broken) or 'no flag'} false", parse_math=False)
    axes.legend(loc="lower right")


def _votes(axes: Any, found: Mended) -> None:
    """Confidence of each expert in its last vote, in the colour of its label, and what it named."""
    from sophron.science.figures import GREEN, GREY, VERMILION

    colours = {Label.PASS: GREEN, Label.UNCERTAIN: GREY, Label.FAIL: VERMILION}
    last = found.critique.rounds[-1]
    for place, (expert, vote) in enumerate(sorted(last.items())):
        axes.barh(place, vote.confidence, height=0.3, color=colours[vote.label])
        named = sorted({f"{each.focus} ({each.severity})" for each in vote.concerns})
        words = [f"{expert}: {vote.label}", *named, *(["proposes an edit"] if vote.edit else [])]
        axes.text(0, place - 0.22, _line(", ".join(words), 70), fontsize=8.5, va="bottom", parse_math=False)
    axes.set(xlim=(0, 1), ylim=(len(last) - 0.5, -0.6), yticks=[], xlabel="confidence of the expert")
    axes.grid(visible=False)
    said = f"2. Panel: {found.critique.label} ({found.critique.score:.2f}), names {found.critique.focus}"
    axes.set_title(said, parse_math=False)


def _diff(axes: Any, found: Mended, shown: Sequence[str]) -> None:
    from sophron.science.figures import GREEN, GREY, VERMILION

    axes.set_axis_off()
    lines = "1 line" if found.changed == 1 else f"{found.changed} lines"
    axes.set_title(f"3. Edit: {lines}; the file of the stage that was named is {found.file}", parse_math=False)
    axes.set(xlim=(0, 1), ylim=(len(shown) + 0.5, -0.5))
    for place, line in enumerate(shown):
        colour = GREY if line[:3] in ("---", "+++") else {"+": GREEN, "-": VERMILION}.get(line[:1], GREY)
        font = {"family": "DejaVu Sans Mono", "fontsize": 8}
        axes.text(0, place, line, color=colour, va="center", parse_math=False, in_layout=False, **font)


def _shortened(edit: Sequence[str]) -> list[str]:
    """The first lines of a diff, cut to what is seen; said if there are more."""
    rest = [f"... and {len(edit) - MOST_LINES} more lines"] if len(edit) > MOST_LINES else []
    return [_line(line, LONGEST_LINE) for line in edit[:MOST_LINES]] + rest


def _line(text: str, longest: int) -> str:
    """One line of an agent's text without what is not seen, cut to `longest` characters."""
    line = " ".join(sanitize.lines(text))
    return line if len(line) <= longest else f"{line[: longest - 3]}..."
