"""The arrays that production keeps for whoever measures them: of windows of a chain, and of two legs in one row."""

from types import SimpleNamespace

import numpy as np
import pytest

from sophron.science.host_guest.protocols.decoupling_legs import Legs
from sophron.science.host_guest.sampling import observables
from sophron.science.host_guest.sampling.samples import Sampled
from sophron.science.host_guest.sampling.window_sampling import COLUMNS


def sampled(window, way, samples=3):
    values = np.arange(len(COLUMNS) * samples, dtype=float).reshape(len(COLUMNS), samples)
    return Sampled(window, way, values)


def test_samples_of_windows_become_arrays_in_the_order_of_time(tmp_path):
    found = [sampled(4, "forward"), sampled(4, "backward", 2)]
    reduced = [np.ones((6, 3)), np.zeros((6, 2))]
    observables.save(tmp_path, **observables.of_samples(found, reduced, 0.5))
    kept = observables.load(tmp_path)
    assert kept["state"].tolist() == [4] * 5
    assert kept["run"].tolist() == [0, 0, 0, 1, 1]
    assert kept["time_ps"].tolist() == [0.5, 1.0, 1.5, 0.5, 1.0]
    assert kept["reduced_potentials"].shape == (6, 5)
    row = COLUMNS.index("temperature_k")
    assert kept["temperature_k"].tolist() == [3.0 * row, 3.0 * row + 1, 3.0 * row + 2, 2.0 * row, 2.0 * row + 1]


def test_a_leg_stands_in_the_row_of_both_with_nan_beside_it():
    legs = Legs(SimpleNamespace(windows=(1, 2, 3)), SimpleNamespace(windows=(1, 2)))
    assert np.isnan(legs.in_row("host", np.ones((3, 4)))).sum(axis=1).tolist() == [0, 0, 0, 4, 4]
    assert np.isnan(legs.in_row("alone", np.ones((2, 4)))).sum(axis=1).tolist() == [4, 4, 4, 0, 0]


def test_a_window_that_is_idle_keeps_an_empty_file(tmp_path):
    observables.save(tmp_path, state=[])
    assert observables.load(tmp_path)["state"].size == 0


def test_what_does_not_fit_is_refused_with_all_that_is_wrong(tmp_path):
    with pytest.raises(ValueError, match=r"distances is no array .*; time_ps has the shape \(2,\); it needs \(3\)"):
        observables.save(tmp_path, state=[0, 0, 0], distances=[1, 2, 3], time_ps=[1.0, 2.0])
