import random
import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophron.debate.panel.reputation import Outcome, Reputation, as_document, means, observed, thompson, trajectory
from sophron.debate.panel.votes import Label
from sophron.records.documents import Document, validate

from .panels import BRIEF, EXPERTS, LABELS

P, U, F = Label.PASS, Label.UNCERTAIN, Label.FAIL
FIRST_DRAW = 0.22141061023146802
TRIALS = st.lists(st.builds(Outcome, st.dictionaries(st.sampled_from(EXPERTS), LABELS), LABELS), max_size=12)


@pytest.mark.parametrize(
    ("before", "after", "seen"),
    [
        (P, P, "consistent"),
        (F, F, "consistent"),
        (P, F, "inconsistent"),
        (F, P, "inconsistent"),
        (U, U, None),
        (U, P, None),
        (F, U, None),
        (None, P, None),
    ],
)
def test_what_a_trial_shows(before, after, seen):
    assert observed(before, after) == seen


def test_equations_7_and_8_by_hand():
    trials = [Outcome({"a": P, "b": F}, P), Outcome({"a": F, "b": U}, F), Outcome({"a": P, "b": P}, U)]
    entries = trajectory(["a", "b"], trials)
    assert [(e["a"].consistent, e["a"].inconsistent) for e in entries] == [(1, 1), (2, 1), (3, 1), (3, 1)]
    assert [(e["b"].consistent, e["b"].inconsistent) for e in entries] == [(1, 1), (1, 2), (1, 2), (1, 2)]
    assert means(entries[-1]) == {"a": 3 / 4, "b": 1 / 3}
    assert [e["b"].observation for e in entries] == [None, "inconsistent", None, None]


def test_the_spread_is_that_of_the_beta_distribution():
    """Variance of Beta(3, 2): 6 / (25 * 6)."""
    assert Reputation(3, 2).standard_deviation == pytest.approx(0.2)


@BRIEF
@given(TRIALS)
def test_bounds_and_counts(trials):
    entries = trajectory(EXPERTS, trials)
    assert len(entries) == len(trials) + 1
    for standing in entries:
        for reputation in standing.values():
            assert 0 < reputation.mean < 1
    assert all(each.consistent + each.inconsistent <= 2 + len(trials) for each in entries[-1].values())
    validate(Document(as_document(entries), Path("reputation.json")), "reputation")


@BRIEF
@given(TRIALS, st.randoms(use_true_random=False))
def test_the_order_of_trials_and_experts_does_not_matter_in_the_end(trials, source):
    turned, experts = source.sample(trials, len(trials)), source.sample(EXPERTS, len(EXPERTS))
    assert means(trajectory(experts, turned)[-1]) == means(trajectory(EXPERTS, trials)[-1])


@BRIEF
@given(TRIALS, st.sampled_from(EXPERTS))
def test_agreeing_never_hurts_and_abstaining_changes_nothing(trials, expert):
    start = trajectory(EXPERTS, trials)[-1][expert].mean
    for after in (P, F):
        agreed = trajectory(EXPERTS, [*trials, Outcome({expert: after}, after)])[-1][expert].mean
        against = trajectory(EXPERTS, [*trials, Outcome({expert: F if after is P else P}, after)])[-1][expert].mean
        assert against < start < agreed
    for trial in (Outcome({expert: U}, P), Outcome({expert: P}, U), Outcome({}, F)):
        assert trajectory(EXPERTS, [*trials, trial])[-1][expert].mean == start


def test_reputation_goes_to_the_reliability():
    source = random.Random(5)
    trials = [Outcome({"a": P if source.random() < 0.8 else F}, P) for _ in range(4000)]
    last = trajectory(["a"], trials)[-1]["a"]
    assert abs(last.mean - 0.8) < 4 * last.standard_deviation
    assert last.standard_deviation < 0.01


def test_a_draw_can_be_repeated_and_depends_on_the_name_alone():
    standing = {"a": Reputation(3, 2), "b": Reputation(3, 2)}
    first = thompson(standing, seed=7, trial=2)
    assert first == thompson(dict(reversed(standing.items())), seed=7, trial=2)
    assert first["a"] == thompson({"a": Reputation(3, 2)}, seed=7, trial=2)["a"]
    assert len({first["a"], first["b"], thompson(standing, 8, 2)["a"], thompson(standing, 7, 3)["a"]}) == 4


def test_a_draw_stays_what_it_was():
    """Written down once: a campaign that is repeated in another version of Python weighs its panel alike."""
    assert thompson({"a": Reputation(3, 2)}, 7, 2) == {"a": pytest.approx(FIRST_DRAW, abs=1e-15)}


@pytest.mark.parametrize("reputation", [Reputation(), Reputation(4, 1), Reputation(2, 5)])
def test_draws_follow_the_posterior(reputation):
    drawn = [thompson({"a": reputation}, 1, trial)["a"] for trial in range(4000)]
    assert all(0 < each <= 1 for each in drawn)
    assert statistics.fmean(drawn) == pytest.approx(reputation.mean, abs=4 * reputation.standard_deviation / 4000**0.5)
    assert statistics.stdev(drawn) == pytest.approx(reputation.standard_deviation, rel=0.06)
