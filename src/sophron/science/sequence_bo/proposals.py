"""Proposals of a round: new sequences by the acquisition that the definition names, and repeats, as many as it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.sequence_bo import acquisition
from sophron.science.sequence_bo.candidates import candidates
from sophron.science.sequence_bo.features import scale
from sophron.science.sequence_bo.gaussian_process import Hyperparameters, Model, merged

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Rows = NDArray[np.float64]

AGENT, REPEAT = "agent", "repeat"


@dataclass(frozen=True)
class Observation:
    """One evaluation: value and standard error in sigma; source: `warm_up/3`, or round and item such as `2/1`."""

    sequence: str
    value: float
    error: float
    source: str


@dataclass(frozen=True)
class Settings:
    """What a definition says of proposals: `repeats` of the `batch` go to sequences that were evaluated before.

    acquisition: noisy_ei or thompson; draws: joint draws of the posterior; parents: best sequences that are changed;
    candidates: how many of each origin.
    """

    batch: int
    repeats: int
    acquisition: str
    draws: int
    parents: int
    candidates: Mapping[str, int]


@dataclass(frozen=True)
class Proposal:
    """expected, deviation: mean and standard deviation of the value by the model before it is evaluated (sigma)."""

    sequence: str
    origin: str
    expected: float
    deviation: float


@dataclass(frozen=True)
class Proposals:
    """expected_gain: what the best new sequence adds to the largest value on average (sigma); candidates: how many."""

    proposals: Sequence[Proposal]
    expected_gain: float
    hyperparameters: Hyperparameters
    candidates: int


@dataclass(frozen=True)
class Fit:
    """The model of all observations, and what it says of the sequences observed: (n,) each."""

    sequences: Sequence[str]
    counts: Sequence[int]
    model: Model
    mean: Rows
    deviation: Rows

    @classmethod
    def of(cls, observations: Sequence[Observation]) -> Fit:
        """Fit the process to them."""
        sequences, values, errors, counts = merged([(one.sequence, one.value, one.error) for one in observations])
        model = Model.fit(features(sequences), values, errors)
        mean, covariance = model.posterior(model.features)
        return cls(sequences, counts, model, mean, np.sqrt(np.maximum(np.diag(covariance), 0.0)))

    @property
    def order(self) -> list[int]:
        """Return the places of the sequences, the largest expected value first."""
        return [int(place) for place in np.argsort(-self.mean, kind="stable")]


def features(sequences: Sequence[str]) -> Rows:
    """Return their scaled features; all have the length and composition of the first."""
    return scale(len(sequences[0]), sequences[0].count("B")).features(sequences)


def propose(
    observations: Sequence[Observation],
    settings: Settings,
    rng: Generator,
    pool: Sequence[str] | None = None,
    given: Sequence[str] = (),
) -> Proposals:
    """Choose the evaluations of a round.

    pool: the only sequences that may be proposed, for replays within a table; without it, moves make candidates. given:
    new sequences of an agent, which are in the round whatever the model thinks of them.
    """
    fit = Fit.of(observations)
    if pool is None:
        parents = [fit.sequences[place] for place in fit.order[: settings.parents]]
        origins = candidates(parents, settings.candidates, [*fit.sequences, *given], rng)
    else:
        known = {*fit.sequences, *given}
        origins = dict.fromkeys((one for one in pool if one not in known), "pool")
    return choose(fit, dict.fromkeys(given, AGENT) | origins, settings, rng)


def choose(fit: Fit, origins: Mapping[str, str], settings: Settings, rng: Generator) -> Proposals:
    """Choose those of an agent and others among `origins` (sequence -> origin), and repeats among those of the fit."""
    fresh, known = list(origins), len(fit.sequences)
    given = sum(origin == AGENT for origin in origins.values())
    rows = np.concatenate([fit.model.features, features(fresh)]) if fresh else fit.model.features
    mean, covariance = fit.model.posterior(rows)
    drawn = acquisition.draws(mean, covariance, settings.draws, rng)
    count = settings.batch - settings.repeats - given
    settled = known + given
    chosen, gains = acquisition.noisy_expected_improvement(drawn[:, :settled], drawn[:, settled:], count)
    if settings.acquisition == "thompson":
        chosen = acquisition.thompson(drawn[:, settled:], count)
    _, given_gains = acquisition.noisy_expected_improvement(drawn[:, :known], drawn[:, known:settled], 1)
    places = [*range(known, settled), *(settled + place for place in chosen)]
    again = acquisition.repeats(drawn[:, :known], settings.batch - len(places))
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    proposals = [
        Proposal([*fit.sequences, *fresh][place], origin, float(mean[place]), float(deviation[place]))
        for place, origin in [
            *((place, origins[fresh[place - known]]) for place in places),
            *((place, REPEAT) for place in again),
        ]
    ]
    return Proposals(proposals, max([0.0, *gains[:1], *given_gains]), fit.model.hyperparameters, len(fresh))
