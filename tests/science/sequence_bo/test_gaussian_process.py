"""The Gaussian process against closed forms and scikit-learn; acquisitions against quadrature and their seeds."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from sophron.science.sequence_bo import acquisition
from sophron.science.sequence_bo import gaussian_process as gp


@pytest.fixture
def data():
    """Features, values and errors that differ from point to point."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(25, 4))
    errors = rng.uniform(0.05, 0.6, 25)
    return rows, np.sin(rows[:, 0]) + 2.0 + errors * rng.normal(size=25), errors


def test_one_value_shrinks_by_its_own_noise():
    h = gp.Hyperparameters(length=1.0, signal=1.0, own=0.0)
    model = gp.Model.fit(np.zeros((1, 2)), np.array([3.0]), np.array([0.5]), h)
    mean, covariance = model.posterior(np.zeros((1, 2)))
    prior = 1.0 + gp.MEAN_PRIOR**2  # in units of the spread, which for one value is its error
    assert mean[0] == pytest.approx(3.0)
    assert covariance[0, 0] == pytest.approx(0.25 * prior / (prior + 1.0), rel=1e-6)


def test_noise_counts_point_by_point():
    h = gp.Hyperparameters(length=1e3, signal=1.0, own=0.0)  # one common value
    values, errors = np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.2, 0.4])
    model = gp.Model.fit(np.arange(6.0).reshape(3, 2), values, errors, h)
    mean, covariance = model.posterior(np.ones((1, 2)))
    weights = errors**-2.0
    assert mean[0] == pytest.approx((weights * values).sum() / weights.sum(), rel=1e-3)
    assert covariance[0, 0] ** 0.5 == pytest.approx(weights.sum() ** -0.5, rel=1e-2)


def test_it_is_scikit_learns_with_the_same_kernel(data):
    kernels = pytest.importorskip("sklearn.gaussian_process.kernels")
    from sklearn.gaussian_process import GaussianProcessRegressor

    rows, values, errors = data
    h = gp.Hyperparameters(length=1.7, signal=0.9, own=0.2)
    model = gp.Model.fit(rows, values, errors, h)
    kernel = kernels.ConstantKernel(0.9**2 * 0.8) * kernels.RBF(1.7) + kernels.ConstantKernel(gp.MEAN_PRIOR**2)
    noise = (errors / model.spread) ** 2 + 0.9**2 * 0.2 + gp.JITTER
    theirs = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(
        rows, (values - model.centre) / model.spread
    )
    asked = np.random.default_rng(6).normal(size=(7, 4))
    mean, covariance = theirs.predict(asked, return_cov=True)
    ours, about = model.posterior(asked)
    assert ours == pytest.approx(model.centre + model.spread * mean)
    assert about == pytest.approx(model.spread**2 * (covariance + 0.9**2 * 0.2 * np.eye(7)), abs=1e-8)


def test_gradient_of_the_likelihood(data):
    rows, values, errors = data
    squared = gp._squared_distances(rows, rows)
    arguments = (squared, values - values.mean(), errors**2)
    for steps in ([0.0, 0.0, 0.0], [0.7, -0.4, 1.1]):
        slope = optimize.approx_fprime(steps, lambda x: gp._objective(x, *arguments)[0], 1e-6)
        assert gp._objective(np.array(steps), *arguments)[1] == pytest.approx(slope, rel=1e-3, abs=1e-3)


def test_a_fit_finds_what_is_smooth_and_says_how_well(data):
    rows, values, errors = data
    model = gp.Model.fit(rows, values, errors)
    mean, covariance = model.posterior(rows)
    truth = np.sin(rows[:, 0]) + 2.0
    assert np.mean((mean - truth) ** 2) < np.mean((values - truth) ** 2)
    assert np.mean(((mean - truth) ** 2 / np.diag(covariance)) < 9) > 0.9


def test_an_error_of_zero_is_refused():
    with pytest.raises(ValueError, match="positive error"):
        gp.Model.fit(np.zeros((2, 1)), np.ones(2), np.array([0.1, 0.0]))


def test_repeats_of_a_sequence_merge_to_their_plain_mean():
    names, values, errors, counts = gp.merged([("AB", 1.0, 0.1), ("BA", 5.0, 0.3), ("AB", 2.0, 0.2)])
    assert names == ["AB", "BA"]
    assert values == pytest.approx([1.5, 5.0])
    assert errors == pytest.approx([math.hypot(0.1, 0.2) / 2, 0.3])
    assert counts == [2, 1]


def test_a_mean_of_repeats_has_no_bias_where_small_values_have_small_errors():
    """As radii do: the error of a short run is a share of what it saw."""
    rng = np.random.default_rng(3)
    runs = rng.lognormal(0.0, 0.3, 20_000)
    _, means, _, _ = gp.merged([(str(place // 2), value, 0.1 * value) for place, value in enumerate(runs)])
    assert means.mean() == pytest.approx(math.exp(0.045), abs=4 * runs.std() / math.sqrt(runs.size))


@pytest.mark.parametrize(("mean", "deviation", "best"), [(0.0, 1.0, 0.0), (1.0, 0.5, 1.8), (-1.0, 2.0, 0.5)])
def test_expected_improvement_is_its_integral(mean, deviation, best):
    normal = stats.norm(mean, deviation)
    exact, _ = integrate.quad(lambda x: (x - best) * normal.pdf(x), best, mean + 12 * deviation)
    found = acquisition.expected_improvement(np.array([mean]), np.array([deviation]), best)
    assert found[0] == pytest.approx(exact, rel=1e-7)


def test_expected_improvement_without_doubt():
    assert acquisition.expected_improvement(np.array([1.0, 0.2]), np.zeros(2), 0.5) == pytest.approx([0.5, 0.0])


def test_noisy_improvement_is_the_closed_form_if_the_best_is_known():
    rng = np.random.default_rng(7)
    mean, deviation = np.array([0.0, 0.3, 0.1]), np.array([1.0, 0.4, 0.8])
    drawn = acquisition.draws(mean, np.diag(deviation**2), 200_000, rng)
    chosen, gains = acquisition.noisy_expected_improvement(np.full((200_000, 1), 0.5), drawn, 1)
    exact = acquisition.expected_improvement(mean, deviation, 0.5)
    assert chosen == [int(exact.argmax())]
    assert gains[0] == pytest.approx(exact.max(), rel=0.02)


def test_a_batch_does_not_choose_twins():
    rng = np.random.default_rng(8)
    covariance = np.array([[1.0, 0.999, 0.0], [0.999, 1.0, 0.0], [0.0, 0.0, 0.8]])
    drawn = acquisition.draws(np.zeros(3), covariance, 4000, rng)
    chosen, gains = acquisition.noisy_expected_improvement(np.zeros((4000, 1)), drawn, 2)
    assert chosen[0] in {0, 1}
    assert chosen[1] == 2
    assert gains[0] > gains[1] > 0


def test_thompson_takes_the_best_of_each_draw_and_follows_its_seed():
    assert acquisition.thompson(np.array([[0, 3, 1], [1, 2, 0], [9, 1, 2]], dtype=float), 3) == [1, 0, 2]
    covariance = np.eye(30)

    def one(seed):
        return acquisition.thompson(acquisition.draws(np.zeros(30), covariance, 8, np.random.default_rng(seed)), 4)

    assert one(1) == one(1)
    assert one(1) != one(2)


def test_repeats_go_to_the_likely_best_that_is_least_known():
    rng = np.random.default_rng(9)
    known = acquisition.draws(np.array([1.0, 1.0, -5.0]), np.diag([0.01, 0.25, 4.0]), 4000, rng)
    assert acquisition.repeats(known, 1) == [1]
    assert acquisition.repeats(known, 0) == []
