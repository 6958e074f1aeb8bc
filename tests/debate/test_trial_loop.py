"""Algorithm 1 as a fold over records."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophron.debate.panel.votes import Label
from sophron.debate.trials.scores import compare
from sophron.debate.trials.trial_loop import Bounds, End, Failure, Guest, Trial, deployed, history, runnable, standing
from sophron.records.typed_json import from_json, to_json

from .panels import BRIEF

REFERENCES = {"a": -1.0, "b": -2.0, "c": -3.0, "d": -4.0}
BOUNDS = Bounds(successes=2, failures=3, theta_pass=0.8)
DONE = {1: "completed", 2: "completed", 3: "completed", 4: "completed"}


def trial(number, values=(-1.1, -2.2, -2.9, -4.1), *, statuses=None, label=Label.UNCERTAIN, score=0.5):
    guests = {name: Guest(statuses or DONE, value) for name, value in zip(REFERENCES, values, strict=True) if values}
    predicted = dict(zip(REFERENCES, values, strict=True))
    return Trial(number, True, guests, 4, compare(predicted, REFERENCES), {"sampling": Label.PASS}, label, score)


def lone(number, value):
    """A trial with one training guest, where there is no order to get right."""
    return Trial(number, True, {"a": Guest(DONE, value)}, 1, compare({"a": value}, {"a": -1.0}), {})


def rejected(number):
    return Trial(number, False, {}, 4, None, {})


def crashed(number, stage=3):
    statuses = {**dict.fromkeys(range(1, stage), "completed"), stage: "failed"}
    return trial(number, (None,) * 4, statuses=statuses, label=None, score=None)


def refused(number, values=(None,) * 4):
    return trial(number, values, statuses={**DONE, 4: "refused"}, label=None, score=None)


def test_a_pass_with_a_high_score_ends_the_loop():
    passed = trial(0, label=Label.PASS, score=0.8)
    assert standing([passed], BOUNDS).end is End.PASSED
    assert standing([trial(0, label=Label.PASS, score=0.79)], BOUNDS).end is None
    assert standing([trial(0, label=Label.UNCERTAIN, score=0.9)], BOUNDS).end is None


def test_successes_and_failures_in_a_row_bound_it():
    assert standing([trial(0)], BOUNDS).end is None
    assert standing([trial(0), trial(1)], BOUNDS).end is End.SUCCESSES
    assert standing([rejected(0), crashed(1)], BOUNDS).end is None
    assert standing([rejected(0), crashed(1), refused(2)], BOUNDS).end is End.FAILURES


def test_a_failure_of_form_uses_up_no_trial_of_science_up_to_its_bound():
    """Refused by Layer-1, or never through a rehearsal: neither is one of the M until the signed number is used up."""
    bounds = replace(BOUNDS, form_failures=2)
    never_ran = Trial(1, True, {}, 4, None, {})
    assert bounds.trials == BOUNDS.trials + 2
    assert standing([rejected(0), never_ran, rejected(2), crashed(3)], bounds).failures_in_a_row == 2
    assert standing([rejected(0), never_ran, rejected(2), crashed(3)], bounds).end is None
    assert standing([rejected(0), never_ran, rejected(2), crashed(3), refused(4)], bounds).end is End.FAILURES
    assert standing([crashed(0), rejected(1), crashed(2), crashed(3)], bounds).end is End.FAILURES


def test_a_success_resets_the_failures():
    found = standing([rejected(0), crashed(1), trial(2), crashed(3), rejected(4)], BOUNDS)
    assert (found.successes, found.failures_in_a_row, found.end) == (1, 2, None)
    assert standing([rejected(0), crashed(1), trial(2), crashed(3), rejected(4), trial(5)], BOUNDS).end is End.SUCCESSES


@BRIEF
@given(st.lists(st.booleans(), min_size=20, max_size=20), st.integers(1, 4), st.integers(1, 4))
def test_the_bound_on_trials_holds_and_can_be_reached(course, successes, failures):
    bounds = Bounds(successes, failures, 2.0)
    trials = []
    for number, good in enumerate(course):
        if standing(trials, bounds).end:
            break
        trials.append(trial(number) if good else crashed(number))
    assert len(trials) <= bounds.trials
    worst = ([crashed(0)] * (failures - 1) + [trial(0)]) * successes
    assert standing(worst[:-1], bounds).end is None
    assert standing(worst, bounds).end is End.SUCCESSES
    assert len(worst) == bounds.trials


@pytest.mark.parametrize(
    ("made", "failure", "succeeded", "deployable"),
    [
        (rejected(0), Failure.LAYER1, False, False),
        (crashed(0), Failure.CRASH, False, False),
        (crashed(0, stage=1), Failure.CRASH, False, False),
        (refused(0), Failure.REFUSAL, False, False),
        (refused(0, (-1.0, None, None, None)), Failure.REFUSAL, True, True),
        (trial(0), Failure.CLEAN, True, True),
        (Trial(0, True, {}, 4, None, {}), Failure.CRASH, False, False),
    ],
)
def test_failures_are_typed(made, failure, succeeded, deployable):
    assert (made.failure, made.succeeded, made.deployable) == (failure, succeeded, deployable)


def test_the_deployed_trial_has_the_highest_rank_correlation_of_those_that_produced_everything():
    good, better = trial(0, (-1.0, -3.0, -2.0, -4.0)), trial(1, (-5.0, -6.0, -7.0, -8.0))
    assert better.scores.mae_kcal_per_mol > good.scores.mae_kcal_per_mol
    half = trial(2, (-1.0, -2.0, -3.0, -4.0), statuses={1: "completed", 2: "completed", 3: "failed"})
    assert deployed([good, better, half]) == 1
    assert deployed([crashed(0), rejected(1)]) is None
    assert deployed([crashed(0), lone(1, -3.0), lone(2, -1.2)]) == 2
    assert deployed([trial(0, (-5.0, -6.0, -7.0, -8.0)), trial(1, (-1.0, -2.0, -3.0, -4.0))]) == 1


def test_an_analysis_that_crashed_on_one_guest_does_not_take_the_others_numbers_away():
    part = trial(1, (-1.0, -2.0, None, -4.0), label=None, score=None)
    broken = replace(part, guests={**part.guests, "c": Guest({**DONE, 4: "failed"}, None)})
    assert (broken.failure, broken.succeeded, broken.deployable) == (Failure.CRASH, False, True)
    assert deployed([trial(0, (-2.0, -1.0, -1.5, -1.2)), broken]) == 1  # tau 1/2 against 0
    assert deployed([trial(0, (-1.0, -2.0, -3.0, -4.0)), broken]) == 0


def test_of_equal_correlations_the_fuller_answer_is_deployed_whatever_the_error_of_the_other():
    whole, best_guess = few(1, -3.0, -1.5), few(2, -1.0, None)
    assert (whole.scores.kendall, best_guess.scores.kendall) == (None, None)
    assert best_guess.scores.mae_kcal_per_mol == 0
    assert deployed([whole, best_guess]) == 1


def few(number, *values):
    """A trial with two training guests."""
    guests = {name: Guest(DONE, value) for name, value in zip("ab", values, strict=True)}
    scores = compare(dict(zip("ab", values, strict=True)), {"a": -1.0, "b": -2.0})
    return Trial(number, True, guests, 2, scores, {})


def test_a_trial_is_read_as_it_was_written():
    for made in (trial(3), rejected(1), crashed(2)):
        assert from_json(Trial, to_json(made)) == made


def test_the_history_tells_no_reference():
    text = str(history([trial(0, (-1.25, -2.25, -3.25, -4.75))]))
    assert not any(str(value) in text for value in REFERENCES.values())


def test_runnable_is_table_ones_mark():
    assert runnable([trial(0), trial(1)], 2) == "yes"
    assert runnable([trial(0), crashed(1)], 2) == "some"
    assert runnable([trial(0)], 2) == "yes"
    assert runnable([crashed(1)], 2) == "no"
