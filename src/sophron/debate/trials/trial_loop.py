"""The trial loop as functions of its records (MDForge, algorithm 1): what a trial was, whether another one comes.

Nothing here keeps a state. Where the loop stands is folded from the trials that ended, so that it can neither be lost
nor drift from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sophron.campaign.execution import outcome_store
from sophron.campaign.execution.outcome_store import Finished
from sophron.campaign.spec.spec import Spec
from sophron.debate.panel.votes import Label
from sophron.debate.trials.scores import Scores
from sophron.interfaces.kind import Wildcards
from sophron.records.typed_json import left_out, to_json


class Failure(StrEnum):
    """How a trial ended (MDForge, figure 3c); the first two did not come to an answer on any guest."""

    LAYER1 = "layer1"
    CRASH = "mid_pipeline_crash"
    REFUSAL = "analysis_refusal"
    CLEAN = "clean"


class End(StrEnum):
    """Why no further trial comes."""

    PASSED = "passed"
    SUCCESSES = "successes"
    FAILURES = "failures"


@dataclass(frozen=True)
class Bounds:
    """successes: N, trials that count; failures: M, in a row; theta_pass: least panel score that ends the loop.

    form_failures: trials that may fail for their form, all together, without being one of the M.
    """

    successes: int
    failures: int
    theta_pass: float
    form_failures: int = 0

    @property
    def trials(self) -> int:
        """Most trials that there can be: M - 1 failures before each success, M after the last but one, and of form."""
        return self.successes * self.failures + self.form_failures


@dataclass(frozen=True)
class Guest:
    """One training guest in one trial. statuses: stage number -> completed, failed or refused; windows count as one."""

    statuses: Mapping[int, str]
    delta_g_kcal_per_mol: float | None

    @property
    def produced(self) -> bool:
        """Whether production was completed."""
        return all(self.statuses.get(stage) == "completed" for stage in (1, 2, 3))


@dataclass(frozen=True)
class Trial:
    """A trial that ended. guests: empty if nothing was executed; label, score: of the panel afterwards, if asked.

    scores: of the benchmark, which alone saw the references; None if it was not made. wanted: number of training
    guests; before: expert -> label of its last vote before the run.
    """

    number: int
    runs: bool
    guests: Mapping[str, Guest]
    wanted: int
    scores: Scores | None
    before: Mapping[str, Label]
    label: Label | None = None
    score: float | None = None

    @property
    def reward(self) -> float | None:
        """r* = -MAE over the guests with a number, in kcal/mol; None without any."""
        return None if self.scores is None or self.scores.mae_kcal_per_mol is None else -self.scores.mae_kcal_per_mol

    @property
    def failure(self) -> Failure:
        """Its type. A refusal on any guest makes it one; a crash of any stage on any guest is the graver fact."""
        if not self.runs:
            return Failure.LAYER1
        statuses = [status for guest in self.guests.values() for status in guest.statuses.values()]
        if not statuses or "failed" in statuses or not all(len(guest.statuses) == 4 for guest in self.guests.values()):
            return Failure.CRASH
        return Failure.REFUSAL if "refused" in statuses else Failure.CLEAN

    @property
    def of_form(self) -> bool:
        """Whether it failed before any guest was run: for Layer-1, or because no rehearsal came through."""
        return not self.guests

    @property
    def analysed(self) -> bool:
        """Whether every guest came to the end of its analysis, with a number or a refusal: the panel has what to see.

        Algorithm 1 (line 17) sends a trial without any number back to its author alone. A refusal is a finding all
        the same, and which stage is to blame for it is what the panel is for (figure 3d).
        """
        return self.failure in (Failure.CLEAN, Failure.REFUSAL)

    @property
    def succeeded(self) -> bool:
        """Whether it counts towards N: nothing crashed, and at least one guest has a finite free energy."""
        return self.analysed and self.scores is not None and self.scores.guests > 0

    @property
    def deployable(self) -> bool:
        """Whether production was completed on all training guests, and any of them has a number to be judged by.

        An analysis that crashed on one guest is the author's to mend, and does not take the others' numbers away.
        """
        complete = len(self.guests) == self.wanted and all(each.produced for each in self.guests.values())
        return complete and self.scores is not None and self.scores.guests > 0


@dataclass(frozen=True)
class Standing:
    """Where the loop stands: n, m, why it is over (None: it goes on), and the trial to deploy (None: there is none)."""

    successes: int
    failures_in_a_row: int
    end: End | None
    deployed: int | None


@dataclass(frozen=True)
class TrialsResult:
    """Result of the stage `trials` (`host_guest/trials.schema.yaml`). predicted: held-out guest -> kcal/mol.

    held_out_by_trial: by the trial's number; not there unless the campaign has every trial's pipeline judged.
    Of what held-out analyses state the last five keep the worst; None unless all that have a number state it.
    """

    trials: int
    successes: int
    end: End | None
    deployed: int | None
    failures: Mapping[Failure, int]
    refused: int
    predictions: int
    training: Scores | None
    held_out: Scores | None
    held_out_error_kcal_per_mol: float | None
    held_out_standard_error_kcal_per_mol: float | None
    refusal: str | None
    predicted: Mapping[str, float | None]
    held_out_by_trial: Mapping[str, Scores] | None = left_out()
    unanswered: int | None = None
    least_overlap: float | None = None
    fewest_effective_samples: float | None = None
    largest_statistical_error_kcal_per_mol: float | None = None
    largest_block_difference_kcal_per_mol: float | None = None
    largest_hysteresis_kcal_per_mol: float | None = None


def standing(trials: Sequence[Trial], bounds: Bounds) -> Standing:
    """Fold the trials that ended, in their order: m is reset by a success; a pass with a high score ends it."""
    successes = failures = of_form = 0
    end = None
    for trial in trials:
        if trial.succeeded:
            successes, failures = successes + 1, 0
            passed = trial.label is Label.PASS and trial.score is not None and trial.score >= bounds.theta_pass
            end = End.PASSED if passed else end
        elif trial.of_form and of_form < bounds.form_failures:
            of_form += 1
        else:
            failures += 1
        if end is None and successes >= bounds.successes:
            end = End.SUCCESSES
        if end is None and failures >= bounds.failures:
            end = End.FAILURES
        if end:
            break
    return Standing(successes, failures, end, deployed(trials))


def deployed(trials: Sequence[Trial]) -> int | None:
    """Return the number of the trial with the highest training Kendall tau.

    Of equal ones that with more numbers, then the lower error, then the later.
    """
    candidates = [trial for trial in trials if trial.deployable]
    if not candidates:
        return None
    return max(candidates, key=_merit).number


def held_out_of(trials: Sequence[Trial], *, each: bool) -> list[int]:
    """Return the trials whose pipelines are run on the held-out guests: the deployed one, or each that could be."""
    if each:
        return [trial.number for trial in trials if trial.deployable]
    chosen = deployed(trials)
    return [] if chosen is None else [chosen]


def _merit(trial: Trial) -> tuple[float, int, float, int]:
    # With few training guests there is no tau, and a pipeline that refuses all but its best guess must not win.
    kendall, guests = (trial.scores.kendall, trial.scores.guests) if trial.scores else (None, 0)
    return (-1.0 if kendall is None else kendall, guests, trial.reward or 0.0, trial.number)


def history(trials: Sequence[Trial]) -> list[dict[str, object]]:
    """H of algorithm 1: each trial in a few lines, without any reference value."""
    return [
        {
            "trial": trial.number,
            "outcome": trial.failure.value,
            "statuses": {
                name: {str(stage): status for stage, status in sorted(guest.statuses.items())}
                for name, guest in sorted(trial.guests.items())
            },
            "panel": trial.label.value if trial.label else None,
            "panel_score": trial.score,
            "training": to_json(trial.scores),
        }
        for trial in trials
    ]


def runnable(trials: Sequence[Trial], successes: int) -> str:
    """Return the mark of table 1: "yes" if N trials, or all that there were, ran; "no" if none did, else "some"."""
    count = sum(trial.succeeded for trial in trials)
    return "yes" if count and count >= min(successes, len(trials)) else "some" if count else "no"


def rehearsals(root: Path, spec: Spec, wildcards: Wildcards) -> list[Finished]:
    """Return the rehearsals of a trial, the first one first."""
    found = outcome_store.of_loop(root, spec, "rehearse", {"trial": wildcards["trial"]})
    return sorted(found, key=lambda one: int(one.wildcards["attempt"]))


def pipeline_text(rehearsal: Finished) -> str:
    """Return the reply that a rehearsal left, fixes of the Engineer included."""
    return rehearsal.files["pipeline"].read_text(encoding="utf-8")


def ready(root: Path, spec: Spec, wildcards: Wildcards) -> str:
    """Return the reply that a trial ran, fixes of the Engineer included; empty if none passed Layer-1."""
    return pipeline_text(rehearsals(root, spec, wildcards)[-1])
