"""Figures of a trial loop: scores and outcomes of the trials, and the reputation of each expert (MDForge, figure 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.debate.reputation import Reputation
from sophron.debate.trials import Failure, Trial

if TYPE_CHECKING:
    from sophron.debate.ladder import Rung

MARKS = ("o-", "s--", "^:", "v-.", "D-", "P--", "X:", "*-.")
"""One a method: readers tell them apart without colours too."""


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
        ended.tick_params(axis="x", rotation=30)
        for style, expert in zip(("o-", "s--", "^:"), sorted(entries[0]), strict=False):
            trust.plot([entry[expert].mean for entry in entries], style, label=expert)
        trust.set(title="Reputation", xlabel="trials that counted", ylabel="posterior mean", ylim=(0, 1))
        trust.legend()


def _colours() -> dict[Failure, str]:
    from sophron.science.figures import BLUE, GREEN, GREY, VERMILION

    return {Failure.CLEAN: GREEN, Failure.REFUSAL: BLUE, Failure.CRASH: VERMILION, Failure.LAYER1: GREY}


def ladder(rungs: Sequence[Rung], path: Path) -> None:
    """Figure 3 of MDForge for several methods: rank correlation by trial, spend up to each, how trials ended; SVG.

    The correlation is that of the training guests, for held-out guests only see the deployed pipeline: its value there
    is the ring at the right end.
    """
    from sophron.science.figures import saved_figure

    with saved_figure(path, width=13.0, height=4.2) as figure:
        ranks, dollars, tokens, ended = figure.subplots(1, 4)
        for mark, rung in zip(MARKS, rungs, strict=False):
            numbers = [trial.number for trial in rung.trials]
            taus = [trial.scores.kendall if trial.scores else None for trial in rung.trials]
            drawn = ranks.plot(numbers, [float("nan") if tau is None else tau for tau in taus], mark)[0]
            held_out = (rung.result["held_out"] or {}).get("kendall")
            if held_out is not None:
                ranks.plot([numbers[-1] + 0.5], [held_out], "o", color=drawn.get_color(), markerfacecolor="none", ms=9)
            for axes, kind in ((dollars, "dollars"), (tokens, "tokens")):
                spent = [each[kind] for each in rung.spent]
                axes.plot(numbers, spent, mark, color=drawn.get_color(), label=rung.method)
        ranks.set(title="Rank correlation, ring: held-out", xlabel="trial", ylabel="Kendall tau", ylim=(-1.05, 1.05))
        dollars.set(title="Spend", xlabel="trial", ylabel="US dollars, cumulative")
        tokens.set(title="Tokens", xlabel="trial", ylabel="tokens, cumulative")
        last = max(len(rung.trials) for rung in rungs)
        for axes in (ranks, dollars, tokens):
            axes.set(xlim=(-0.5, last), xticks=range(last))
        figure.legend(*dollars.get_legend_handles_labels(), loc="outside lower left", ncols=4)
        _endings(ended, rungs)
        figure.legend(*ended.get_legend_handles_labels(), loc="outside lower right", ncols=2)


def _endings(axes: Any, rungs: Sequence[Rung]) -> None:
    """One bar a method: parts of its trials by how they ended."""
    names, left = [rung.method for rung in rungs], [0.0] * len(rungs)
    for kind, colour in _colours().items():
        parts = [100 * rung.failures[kind] / len(rung.trials) for rung in rungs]
        axes.barh(names, parts, left=left, color=colour, label=kind.value)
        left = [done + part for done, part in zip(left, parts, strict=True)]
    axes.set(title="How trials ended", xlabel="trials / %", xlim=(0, 100))
    axes.invert_yaxis()
