"""Reputation: how often an expert's vote before a trial agreed with its outcome (MDForge, equations 7 and 8).

A panel's reputation is not a state of its own: it is folded from what votes and critiques on disk say, so that it can
neither be lost nor drift from them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from sophron.debate.panel.votes import Label

Observation = Literal["consistent", "inconsistent"]


@dataclass(frozen=True)
class Reputation:
    """Beta posterior of the chance that an expert's vote agrees with the outcome; the prior is uniform.

    consistent, inconsistent: alpha and beta of equation 7, from 1; observation: what the last trial showed, None
    where it showed nothing.
    """

    consistent: int = 1
    inconsistent: int = 1
    observation: Observation | None = None

    @property
    def mean(self) -> float:
        """Posterior mean (equation 8): the weight of the expert's votes."""
        return self.consistent / (self.consistent + self.inconsistent)

    @property
    def standard_deviation(self) -> float:
        """Of the posterior: sqrt(mean (1 - mean) / (alpha + beta + 1))."""
        return math.sqrt(self.mean * (1 - self.mean) / (self.consistent + self.inconsistent + 1))

    def after(self, seen: Observation | None) -> Reputation:
        """Return the posterior when one more trial has shown `seen`."""
        return replace(
            self,
            consistent=self.consistent + (seen == "consistent"),
            inconsistent=self.inconsistent + (seen == "inconsistent"),
            observation=seen,
        )


@dataclass(frozen=True)
class Outcome:
    """A completed trial as reputation sees it.

    before: expert -> label of its last vote before the run; after: label of the panel after the run.
    """

    before: Mapping[str, Label]
    after: Label


def observed(before: Label | None, after: Label) -> Observation | None:
    """Return what a trial shows of an expert that voted `before` (None: it did not) where the panel said `after`.

    Only a pass or fail on both sides is an observation. An uncertain vote claims nothing that a run could refute, an
    uncertain outcome refutes nothing: counting them as agreement would pay for hedging, as disagreement for bluffing.
    """
    if before is None or Label.UNCERTAIN in {before, after}:
        return None
    return "consistent" if before is after else "inconsistent"


def trajectory(experts: Sequence[str], trials: Sequence[Outcome]) -> tuple[dict[str, Reputation], ...]:
    """Return the reputation of each of `experts` before the first of the completed `trials` and after each of them.

    The last entry weighs the votes of the next trial. A trial that did not complete has no outcome and does not count.
    """
    standing = {expert: Reputation() for expert in experts}
    entries = [standing]
    for trial in trials:
        standing = {
            expert: reputation.after(observed(trial.before.get(expert), trial.after))
            for expert, reputation in standing.items()
        }
        entries.append(standing)
    return tuple(entries)


def means(standing: Mapping[str, Reputation]) -> dict[str, float]:
    """Expert -> posterior mean: the weights of a panel."""
    return {expert: reputation.mean for expert, reputation in standing.items()}


def thompson(standing: Mapping[str, Reputation], seed: int, trial: int) -> dict[str, float]:
    """Expert -> one draw from its posterior, for all votes of trial number `trial`: the variant for exploration.

    A draw depends on seed, trial and the expert's name alone, so that a step can repeat it. Beta(a, b) with whole
    a, b is the a-th smallest of a + b - 1 uniform numbers, which Python gives alike in every version.
    """
    drawn = {}
    for expert, reputation in standing.items():
        source = random.Random(f"{seed}/{trial}/{expert}")  # noqa: S311 - statistics, not secrets
        count = reputation.consistent + reputation.inconsistent - 1
        value = sorted(source.random() for _ in range(count))[reputation.consistent - 1]
        drawn[expert] = value or math.ulp(0.0)  # 0 is drawn once in 2**53 and would silence the expert
    return drawn


def as_document(entries: Sequence[Mapping[str, Reputation]]) -> dict[str, list[dict[str, dict[str, object]]]]:
    """Return a trajectory as plain data that fits `reputation.schema.yaml`."""
    return {
        "trajectory": [{expert: _standing(each) for expert, each in sorted(entry.items())} for entry in entries],
    }


def _standing(reputation: Reputation) -> dict[str, object]:
    numbers = {"mean": reputation.mean, "standard_deviation": reputation.standard_deviation}
    return asdict(reputation) | numbers
