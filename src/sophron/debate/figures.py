"""Figures of a trial loop: scores and outcomes of the trials, and the reputation of each expert (MDForge, figure 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sophron.debate.reputation import Reputation
from sophron.debate.trials import Failure, Trial


def trials(made: Sequence[Trial], entries: Sequence[Mapping[str, Reputation]], path: Path) -> None:
    """Training Kendall tau by trial, how each trial ended, and reputation after each one that counted; SVG."""
    from sophron.science.figures import BLUE, GREEN, GREY, VERMILION, saved_figure

    colours = {Failure.CLEAN: GREEN, Failure.REFUSAL: BLUE, Failure.CRASH: VERMILION, Failure.LAYER1: GREY}
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
