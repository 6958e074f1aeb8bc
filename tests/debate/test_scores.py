"""Scores of predicted against reference free energies, and their intervals over resampled guests."""

import itertools
import math

import numpy as np
import pytest

from sophron.debate.trials.scores import Scores, compare
from sophron.records.typed_json import from_json, to_json

REFERENCES = {"a": -1.0, "b": -2.0, "c": -3.0, "d": -4.0}
OURS, THEIRS = [-3.2, -2.0, -7.5, -4.4, -5.1], [-1.0, -2.5, -8.0, -6.0, -3.9]


def scored(ours, theirs):
    names = "abcdefghijklmn"[: len(ours)]
    return compare(dict(zip(names, ours, strict=True)), dict(zip(names, theirs, strict=True)))


def test_scores_by_hand():
    found = compare({"a": -1.0, "b": -3.0, "c": -2.0, "d": -4.0}, REFERENCES)
    assert found.kendall == pytest.approx(2 / 3)
    assert found.spearman == pytest.approx(0.8)
    assert found.r2 == pytest.approx(0.64)
    assert found.mae_kcal_per_mol == pytest.approx(0.5)
    assert found.mae_standard_error_kcal_per_mol == pytest.approx(3**-0.5 / 2)  # errors 0, 1, 1, 0
    assert compare({}, REFERENCES).mae_kcal_per_mol is None
    assert compare({"a": -1.5}, REFERENCES).mae_standard_error_kcal_per_mol is None
    assert compare(dict.fromkeys("abcd", 0.1), REFERENCES).r2 is None


def test_r2_has_the_sign_of_the_correlation():
    assert scored([4.0, 3.0, 2.0, 1.0], list(REFERENCES.values())).r2 == pytest.approx(1)
    assert scored([1.0, 2.0, 3.0, 4.0], list(REFERENCES.values())).r2 == pytest.approx(-1)


def test_refusing_to_answer_never_raises_the_rank_correlation():
    whole = compare({"a": -1.0, "b": -2.0, "c": -2.5, "d": -2.7}, REFERENCES)
    part = compare({"a": -1.0, "b": -2.0, "c": -2.5, "d": None}, REFERENCES)
    assert (whole.kendall, part.kendall) == (1.0, pytest.approx(1 / 2))
    assert (part.guests, part.unanswered, whole.unanswered) == (3, 1, 0)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_few_guests_have_an_error_and_no_correlation(count):
    found = scored(OURS[:count], OURS[:count])
    assert (found.guests, found.mae_kcal_per_mol) == (count, 0)
    assert (found.r2, found.spearman, found.kendall) == (None, None, None)
    assert {found.r2_interval, found.spearman_interval, found.kendall_interval} == {None}
    assert found.mae_interval_kcal_per_mol is None


def test_two_answers_of_five_are_not_correlated():
    found = scored([-1.0, -2.5, None, None, None], THEIRS)
    assert (found.guests, found.unanswered, found.r2, found.spearman) == (2, 3, None, None)
    assert found.kendall == pytest.approx(0.1)


def test_scipy_agrees():
    stats = pytest.importorskip("scipy.stats")
    found = scored(OURS, THEIRS)
    assert found.kendall == pytest.approx(stats.kendalltau(OURS, THEIRS).statistic)
    assert found.spearman == pytest.approx(stats.spearmanr(OURS, THEIRS).statistic)
    assert found.r2 == pytest.approx(stats.pearsonr(OURS, THEIRS).statistic ** 2)
    errors = np.abs(np.subtract(OURS, THEIRS))
    theirs = stats.bootstrap((errors,), np.mean, method="percentile", n_resamples=10_000, rng=1).confidence_interval
    assert found.mae_interval_kcal_per_mol == pytest.approx(tuple(theirs), abs=0.03)


def test_intervals_are_those_of_all_resamples_of_the_guests():
    """Five guests have 3,125 resamples: all of them, against the drawn ones."""
    stats = pytest.importorskip("scipy.stats")
    ours, theirs = np.array(OURS), np.array(THEIRS)
    correlations, ranks = [], []
    for guests in itertools.product(range(5), repeat=5):
        chosen = list(guests)
        if len(set(chosen)) == 1:
            continue
        correlation = np.corrcoef(ours[chosen], theirs[chosen])[0, 1]
        correlations.append(np.sign(correlation) * correlation**2)
        pairs = [(a, b) for a, b in itertools.combinations(chosen, 2) if a != b]
        ranks.append(np.mean([np.sign((ours[a] - ours[b]) * (theirs[a] - theirs[b])) for a, b in pairs]))
    found = scored(OURS, THEIRS)
    for interval, values in ((found.r2_interval, correlations), (found.kendall_interval, ranks)):
        below, above = (stats.percentileofscore(values, end, kind="weak") for end in interval)
        strict = stats.percentileofscore(values, interval[0], kind="strict")
        assert strict - 0.7 < 2.5 < below + 0.7
        assert above > 96.8


def test_intervals_do_not_depend_on_the_order_of_the_guests():
    forward = compare(dict(zip("abcde", OURS, strict=True)), dict(zip("abcde", THEIRS, strict=True)))
    backward = compare(dict(zip("edcba", OURS[::-1], strict=True)), dict(zip("edcba", THEIRS[::-1], strict=True)))
    assert forward == backward


def test_scores_are_read_as_they_were_written_now_and_before():
    found = scored(OURS, THEIRS)
    assert from_json(Scores, to_json(found)) == found
    before = {name: value for name, value in to_json(found).items() if "interval" not in name and name != "unanswered"}
    assert from_json(Scores, before).kendall == found.kendall


def test_a_number_that_is_not_finite_is_no_answer():
    references = dict(zip("abcdef", (-5.0, -6.0, -7.0, -8.0, -9.0, -10.0), strict=True))
    told = references | {"b": -math.inf, "c": math.nan}
    found = compare(told, references)
    assert (found.guests, found.unanswered, found.mae_kcal_per_mol) == (4, 2, 0.0)
    assert found == compare({name: value for name, value in told.items() if math.isfinite(value)}, references)
