"""The path to free energies, on harmonic wells whose answer is known."""

import math
import time
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("pymbar", reason="pymbar is not installed: pip install 'sophron[chem]'")

from pymbar import MBAR
from pymbar.testsystems import HarmonicOscillatorsTestCase

from sophron.science.estimators.mbar import LEAST_OVERLAP, Estimate, Run, estimate
from sophron.science.estimators.pymbar_solver import solve
from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import rt
from sophron.science.estimators.thermodynamic_cycle import Term, closure

from .synthetic import exponential_noise

T = 298.15
CENTRES = (0.0, 1.0, 2.0, 3.0, 4.0)
STIFF = (1.0, 2.0, 4.0, 8.0, 16.0)
SOFT = (1.0, 1.25, 1.5, 1.75, 2.0)


def reduced(x, centres=CENTRES, stiff=STIFF):
    return np.array([0.5 * k * (x - at) ** 2 for at, k in zip(centres, stiff, strict=True)])


def run(window, x, seeded=None, centres=CENTRES, stiff=STIFF):
    return Run(window, reduced(x, centres, stiff), x[None], seeded)


def wells(samples, seed, tau=0.0, *, centres=CENTRES, stiff=STIFF, seeded=None):
    """A run of each well; correlated over `tau` samples."""
    rng = np.random.default_rng(seed)
    noise = [
        exponential_noise(rng, samples, 1, 1.0, [(1.0, tau)])[:, 0] if tau else rng.normal(size=samples)
        for _ in centres
    ]
    places = [at + each / math.sqrt(k) for at, k, each in zip(centres, stiff, noise, strict=True)]
    return [run(window, x, seeded, centres, stiff) for window, x in enumerate(places)]


def exact(stiff=STIFF):
    return 0.5 * rt(T) * math.log(stiff[-1] / stiff[0])


def test_our_solver_equals_pymbar_on_its_own_harmonic_test():
    case = HarmonicOscillatorsTestCase(O_k=CENTRES, K_k=STIFF)
    _, u_kn, counts, _ = case.sample([500, 400, 600, 300, 700], mode="u_kn", seed=11)
    parts = np.split(u_kn, np.cumsum(counts)[:-1], axis=1)
    ours, theirs = solve(parts, np.zeros(5)), MBAR(u_kn, counts)
    found = theirs.compute_free_energy_differences()
    assert ours.free_energies == pytest.approx(found["Delta_f"][0], abs=1e-6)
    assert ours.errors == pytest.approx(found["dDelta_f"][0], rel=1e-4)
    assert ours.effective_samples == pytest.approx(theirs.compute_effective_sample_number(), rel=1e-4)


def test_overlaps_are_those_of_pymbar_where_counts_are_equal_and_do_not_follow_counts():
    case = HarmonicOscillatorsTestCase(O_k=CENTRES, K_k=STIFF)
    _, u_kn, counts, _ = case.sample([3000] * 5, mode="u_kn", seed=13)
    parts = np.split(u_kn, 5, axis=1)
    matrix = MBAR(u_kn, counts).compute_overlap()["matrix"]
    equal = solve(parts, np.zeros(5)).overlaps
    assert equal == pytest.approx([matrix[i, i + 1] for i in range(4)], rel=0.1)
    few = solve([parts[0][:, :150], *parts[1:]], np.zeros(5)).overlaps
    assert few == pytest.approx(equal, rel=0.25)


def test_the_whole_path_equals_pymbar_on_the_samples_it_keeps():
    """Both start from all samples; pymbar's own wells, no thinning to speak of."""
    case = HarmonicOscillatorsTestCase(O_k=CENTRES, K_k=STIFF)
    x, u_kn, counts, _ = case.sample([2000] * 5, mode="u_kn", seed=12)
    runs = [run(window, each) for window, each in enumerate(np.split(x, 5))]
    found, theirs = estimate(runs, T), MBAR(u_kn, counts).compute_free_energy_differences()
    assert min(found.samples) > 1500
    both = math.hypot(found.error, rt(T) * theirs["dDelta_f"][0][-1])
    assert abs(found.difference - rt(T) * theirs["Delta_f"][0][-1]) < both
    assert abs(found.difference - rt(T) * case.analytical_free_energies()[-1]) < 3 * found.error


def test_a_slow_motion_with_a_small_share_is_refused_or_counted():
    """A tenth of the variance relaxes 300 times as slowly as the rest, and rules the error of the mean."""
    rng = np.random.default_rng(21)

    def chain(samples, share=0.1):
        noise = exponential_noise(rng, samples, 2, 1.0, [(1 - share, 0.3), (share, 30.0)]).T
        return [
            run(window, at + x, None, (0.0, 1.0), (1.0, 1.0))
            for window, (at, x) in enumerate(zip((0, 1), noise, strict=True))
        ]

    assert all(estimate(chain(900, 0.5), T).reason is Reason.FEW_SAMPLES for _ in range(3))
    found = [estimate(chain(9000), T) for _ in range(8)]
    z = [each.difference / each.error for each in found]  # equal wells: the answer is 0
    assert np.sqrt(np.mean(np.square(z))) < 1.8


@pytest.mark.parametrize("tau", [0.0, 4.0])
def test_errors_are_true_also_for_correlated_samples(tau):
    """12 chains of about 500 independent samples a window: z is of unit size."""
    found = [estimate(wells(int(500 * (1 + 2 * tau)), seed, tau, stiff=SOFT), T) for seed in range(12)]
    z = np.array([(each.difference - exact(SOFT)) / each.error for each in found])
    assert np.all(np.abs(z) < 3.5)
    assert 0.4 < np.sqrt(np.mean(z**2)) < 1.7


def test_a_constant_common_to_all_windows_cancels():
    runs = wells(400, 3)
    moved = [Run(each.window, each.reduced + 1e4 * np.sin(np.arange(400)), each.coordinates) for each in runs]
    assert estimate(moved, T).difference == pytest.approx(estimate(runs, T).difference, abs=1e-6)


def test_a_closed_cycle_is_zero():
    """Three chains around, each with samples of its own."""
    corners = [(0.0, 1.0), (1.5, 4.0), (0.7, 2.0), (0.0, 1.0)]
    legs = []
    for seed, (start, end) in enumerate(pairwise(corners)):
        centres, stiff = zip(start, end, strict=True)
        found = estimate(wells(1000, seed, centres=centres, stiff=stiff), T)
        legs.append(Term(f"leg {seed}", found.difference, found.error))
    assert isinstance(closure(legs), Term)
    legs[1] = -legs[1]
    assert isinstance(closure(legs), Refusal)


def refusal(found, reason):
    assert isinstance(found, Refusal), found
    assert found.reason is reason
    assert str(found) == f"{reason.value}: {found.sentence}"
    return found


@pytest.mark.parametrize("gap", [8.0, 40.0, 1000.0])
def test_windows_without_overlap_are_refused_at_once(gap):
    began = time.process_time()
    centres = (0.0, 1.0, 1.0 + gap, 2.0 + gap)
    refused = refusal(estimate(wells(500, 1, centres=centres, stiff=(1.0,) * 4), T), Reason.NO_OVERLAP)
    assert refused.windows == (1, 2)
    assert "windows 1 and 2" in refused.sentence
    assert time.process_time() - began < 10


def test_the_overlap_guard_stands_where_it_is_written():
    """Overlaps just above and below the limit, by the distance of two wells."""
    verdicts = {}
    for distance in np.linspace(2.4, 4.4, 9):
        found = estimate(wells(4000, 2, centres=(0.0, distance), stiff=(1.0, 1.0)), T)
        verdicts[distance] = found.overlaps[0] if isinstance(found, Estimate) else None
        assert found.reason is Reason.NO_OVERLAP if verdicts[distance] is None else verdicts[distance] >= LEAST_OVERLAP
    given = [each for each in verdicts.values() if each is not None]
    assert given == sorted(given, reverse=True)
    assert 0 < len(given) < len(verdicts)


def test_windows_beside_each_other_are_told_as_a_range():
    runs = wells(2000, 5, tau=60.0)
    runs[1] = wells(20000, 5)[1]
    refused = refusal(estimate(runs, T), Reason.FEW_SAMPLES)
    assert refused.windows == (0, 2, 3, 4)
    assert refused.sentence.startswith("windows 0, 2 to 4 hold as few as")


def test_few_independent_samples_are_refused():
    runs = wells(2000, 4)
    runs[2] = wells(2000, 5, tau=60.0)[2]
    refused = refusal(estimate(runs, T), Reason.FEW_SAMPLES)
    assert refused.windows == (2,)


def test_blocks_that_differ_are_refused():
    """A small step half-way in every window, which no window shows as correlation; along the chain it adds up."""
    centres, stiff = tuple(np.arange(12.0)), (1.0,) * 12
    runs = wells(1000, 6, centres=centres, stiff=stiff)
    moved = []
    for each in runs:
        x = each.coordinates[0] + 0.07 * np.where(np.arange(1000) < 500, -1.0, 1.0)
        moved.append(run(each.window, x, centres=centres, stiff=stiff))
    found = estimate(moved, T)
    assert "halves" in refusal(found, Reason.BLOCKS_DIFFER).sentence


def test_hysteresis_is_refused_and_measured():
    stiff = (1.0,) * 5
    forward = wells(800, 7, stiff=stiff, seeded="forward")
    backward = wells(800, 8, stiff=stiff, seeded="backward")
    found = estimate(forward + backward, T)
    assert isinstance(found, Estimate)
    assert abs(found.hysteresis) < 0.5
    assert found.systematic == pytest.approx(0.5 * max(abs(found.hysteresis), abs(found.block_difference)))
    stuck = [run(each.window, each.coordinates[0] + 0.5, "backward", stiff=stiff) for each in backward]
    refused = refusal(estimate(forward + stuck, T), Reason.HYSTERESIS)
    assert "forward and backward" in refused.sentence


def test_hysteresis_names_the_windows_where_it_arises():
    """Runs from the other end that are stuck in two windows of eight: the steps to and from them are to blame."""
    centres, stiff = tuple(np.arange(8.0)), (1.0,) * 8
    forward = wells(800, 7, centres=centres, stiff=stiff, seeded="forward")
    backward = wells(800, 8, centres=centres, stiff=stiff, seeded="backward")
    stuck = [
        run(each.window, each.coordinates[0] + 1.5 * (each.window in (3, 4)), "backward", centres=centres, stiff=stiff)
        for each in backward
    ]
    refused = refusal(estimate(forward + stuck, T), Reason.HYSTERESIS)
    assert refused.windows == (2, 3, 4, 5)
    assert "most of it in windows 2 to 5" in refused.sentence


def test_hysteresis_that_was_not_tested_is_none():
    assert estimate(wells(400, 9), T).hysteresis is None
    assert estimate(wells(400, 9, seeded="forward"), T).hysteresis is None


def test_the_order_of_runs_is_free():
    runs = wells(300, 10)
    assert estimate(runs[::-1], T).difference == pytest.approx(estimate(runs, T).difference, abs=1e-9)


@pytest.mark.parametrize(
    "runs",
    [
        [],
        wells(50, 1)[:1],
        wells(50, 1)[1:],
        [*wells(50, 1)[:4], Run(4, np.zeros((4, 50)), np.zeros((1, 50)))],
        [*wells(50, 1)[:4], Run(4, np.zeros((5, 50)), np.zeros((1, 49)))],
        [*wells(50, 1)[:4], Run(4, np.full((5, 50), np.inf), np.zeros((1, 50)))],
        wells(7, 1),
    ],
)
def test_runs_that_do_not_fit_are_errors(runs):
    with pytest.raises(ValueError):
        estimate(runs, T)


def test_a_window_that_stands_still_is_not_two_thousand_samples():
    """Each of its equal samples would count as independent, as a constant has no correlation."""
    runs = wells(2000, seed=21)
    place = np.full(2000, CENTRES[2] + 0.1)
    refused = estimate([run(2, place) if one.window == 2 else one for one in runs], T)
    assert (refused.reason, refused.windows) == (Reason.FEW_SAMPLES, (2,))
    assert "the same frame over and over" in refused.sentence


def test_frames_that_were_written_ten_times_count_once():
    runs = wells(2000, seed=22)
    again = run(2, np.repeat(runs[2].coordinates[0][::10], 10))
    found = estimate([again if one.window == 2 else one for one in runs], T)
    assert found.inefficiencies[2] == pytest.approx(10.0, rel=0.3)
    assert found.free_energies[-1] == pytest.approx(exact(), abs=3 * found.errors[-1])


def test_one_clash_and_single_precision_change_nothing():
    runs = wells(2000, seed=23)
    clash = runs[2].reduced.copy()
    clash[3, 7] = 1e12
    changed = [Run(2, clash, runs[2].coordinates) if one.window == 2 else one for one in runs]
    single = [Run(one.window, one.reduced.astype("f4"), one.coordinates.astype("f4")) for one in runs]
    whole = estimate(runs, T)
    for other in (estimate(changed, T), estimate(single, T)):
        assert other.free_energies[-1] == pytest.approx(whole.free_energies[-1], abs=whole.errors[-1])
