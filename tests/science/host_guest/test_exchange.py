"""Hamiltonian replica exchange, on a guest whose distribution in each window is known."""

import numpy as np
import pytest

from sophron.science.estimators.restraints import rt
from sophron.science.host_guest import exchange, sampling

from .conftest import CHEM, T, ghost

PLAN = sampling.Plan(samples=300, interval=40, settle=200, time_step_ps=0.01)


@pytest.fixture(scope="module")
def exchanged():
    pytest.importorskip("openmm", reason=f"OpenMM {CHEM}")
    made = ghost(((), (4.0, 4.5, 9.5)))
    engine = sampling.Engine(made, PLAN.time_step_ps, "Reference")
    return made, exchange.run(engine, [sampling.State(made.positions_a)] * 3, PLAN, 8)


def test_neighbours_that_overlap_swap_and_others_do_not(exchanged):
    _, found = exchanged
    assert found.accepted[0] > 0.3
    assert found.accepted[1] < 0.02
    assert {tuple(sorted(row)) for row in found.replicas} == {(0, 1, 2)}


def test_each_window_keeps_its_distribution(exchanged):
    made, found = exchanged
    for place, target in ((0, 4.0), (1, 4.5)):
        distances = found.sampled[place].values[0][20:]
        width = np.sqrt(rt(T) / (2 * made.windows[place].frame.distance.k))
        assert distances.mean() == pytest.approx(target + 2 * width**2 / target, abs=0.1)
        assert distances.std() == pytest.approx(width, rel=0.2)
