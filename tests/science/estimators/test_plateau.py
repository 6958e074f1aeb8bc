import numpy as np
import pytest

from sophron.science.estimators.plateau import Cutoff, Reason, Refusal, choose_cutoff, noise_rate


def smooth(times, terms):
    """Noise-free running integral."""
    return sum(amplitude * tau * (1 - np.exp(-times / tau)) for amplitude, tau in terms)


def test_noise_rate_of_a_random_walk():
    rng = np.random.default_rng(1)
    times = 0.5 * np.arange(400)
    walks = np.cumsum(rng.normal(scale=0.3, size=(500, 400)), axis=1)
    assert noise_rate(times, walks) == pytest.approx(0.3**2 / 0.5, rel=0.1)


@pytest.mark.parametrize("tau", [0.5, 1.0, 3.0])
def test_cutoff_follows_the_longest_time(tau):
    times = 0.05 * np.arange(1000)
    chosen = choose_cutoff(times, smooth(times, [(1.0, 0.1), (1.0, tau)]), 1e-6, 1e4)
    assert isinstance(chosen, Cutoff)
    assert chosen.longest_relaxation == pytest.approx(tau, rel=0.35)
    assert chosen.time >= 3 * chosen.longest_relaxation
    assert chosen.time == pytest.approx(times[chosen.index])
    left = smooth(times, [(1.0, 0.1), (1.0, tau)])[chosen.index]
    assert 0.1 + tau - left < 0.15 * np.sqrt(1e-6 * chosen.time)


def test_more_noise_cuts_earlier_but_never_below_three_times():
    times = 0.05 * np.arange(1000)
    curve = smooth(times, [(1.0, 1.0)])
    cuts = [choose_cutoff(times, curve, rate, 1e4) for rate in (1e-8, 1e-5, 1e-3)]
    assert cuts[0].time > cuts[1].time > cuts[2].time
    assert all(cut.time >= 3 * cut.longest_relaxation for cut in cuts)


@pytest.mark.parametrize("window", [5.0, 20.0, 29.0])
def test_a_window_below_three_times_is_refused(window):
    times = 0.1 * np.arange(int(window / 0.1) + 1)
    refused = choose_cutoff(times, smooth(times, [(1.0, 10.0)]), 1e-6, 1e5)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.WINDOW_TOO_SHORT
    assert refused.longest_relaxation == pytest.approx(10.0, rel=0.35)
    assert str(refused).startswith("window_too_short: ")


def test_a_short_run_is_refused():
    times = 0.1 * np.arange(500)
    refused = choose_cutoff(times, smooth(times, [(1.0, 2.0)]), 1e-5, 40.0)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.RUN_TOO_SHORT


def test_a_solid_is_refused():
    times = 0.1 * np.arange(500)
    refused = choose_cutoff(times, smooth(times, [(1.0, 1.0)]) + 0.3 * times, 1e-5, 1e5)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.WINDOW_TOO_SHORT


def test_an_integral_that_falls_is_refused():
    times = 0.1 * np.arange(500)
    refused = choose_cutoff(times, smooth(times, [(1.0, 1.0)]) - 0.01 * times, 1e-7, 1e5)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.NO_RELAXATION


def test_oscillation_of_stiff_bonds_stays_out_of_the_fit():
    times = 0.02 * np.arange(2000)
    fast = np.exp(-times / 0.1) * np.sin(2 * np.pi * times / 0.13)
    chosen = choose_cutoff(times, smooth(times, [(0.5, 2.0)]) + fast, 1e-5, 1e4)
    assert isinstance(chosen, Cutoff)
    assert 0.1 < chosen.fit_start < 2.0
    assert chosen.longest_relaxation == pytest.approx(2.0, rel=0.2)
