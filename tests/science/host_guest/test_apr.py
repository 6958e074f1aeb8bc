"""Attach-pull-release on systems with exact answers."""

import math

import numpy as np
import pytest

from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import STANDARD_VOLUME, Frame, Harmonic, rt
from sophron.science.estimators.thermodynamic_cycle import Term
from sophron.science.host_guest.protocols import lj_dimer, residual_interaction
from sophron.science.host_guest.protocols.apr import Wall, binding, chain, reduced
from sophron.science.host_guest.protocols.lj_dimer import LennardJones
from sophron.science.host_guest.systems import exact_reference

from . import dimer_chain

T = 298.15
DIMER = LennardJones(3.0, dimer_chain.SIGMA_A)


def left(potential):
    """What the dimer still feels in its last window, as a term."""
    restraint = dimer_chain.windows()[-1].frame.distance
    return Term(residual_interaction.NAME, residual_interaction.residual(potential, restraint, T))


@pytest.mark.parametrize(("epsilon", "answer"), [(1.0, -0.3704), (3.0, -1.5058), (5.0, -3.2214)])
def test_the_dimer_by_quadrature(epsilon, answer):
    assert exact_reference.binding(LennardJones(epsilon, 3.4), 8.0, T) == pytest.approx(answer, abs=1e-4)


def test_an_ideal_gas_in_a_sphere_by_hand():
    by_hand = -rt(T) * math.log(4 / 3 * math.pi * 8.0**3 / STANDARD_VOLUME)
    assert exact_reference.binding(dimer_chain.ideal_gas, 8.0, T) == pytest.approx(by_hand, abs=1e-6)


def test_a_stiffer_wall_comes_near_the_sphere():
    sphere = exact_reference.binding(DIMER, 8.0, T)
    off = [exact_reference.binding(DIMER, Wall(8.0, k), T) - sphere for k in (1.0, 100.0, 10000.0)]
    assert off[0] < off[1] < off[2] < 0
    assert off[2] > -1e-3


def test_the_grid_is_fine_enough(monkeypatch):
    fine = exact_reference.binding(DIMER, 8.0, T)
    monkeypatch.setattr(exact_reference, "GRID", exact_reference.GRID // 2 + 1)
    assert exact_reference.binding(DIMER, 8.0, T) == pytest.approx(fine, abs=1e-6)


def test_samples_follow_their_distribution():
    windows = dimer_chain.windows()[-1:]
    distance = dimer_chain.sample(windows, dimer_chain.ideal_gas, T, 20000, 3)[0].coordinates[0]
    target, k = windows[0].frame.distance.target, windows[0].frame.distance.k
    width = math.sqrt(rt(T) / (2 * k))
    assert distance.mean() == pytest.approx(target + 2 * width**2 / target, abs=4 * width / math.sqrt(20000))
    assert distance.std() == pytest.approx(width, rel=0.03)


def test_walls_stand_in_their_own_windows_alone():
    windows = dimer_chain.windows()
    beyond = np.array([[9.0], [0.0], [0.0]])
    plain = chain(dimer_chain.FRAME, dimer_chain.STRENGTHS, dimer_chain.DISTANCES_A, Wall(100.0, 1.0))
    extra = (reduced(windows, beyond, T) - reduced(plain, beyond, T))[:, 0]
    assert extra[: len(dimer_chain.STRENGTHS)] == pytest.approx(lj_dimer.WALL.k / rt(T))
    assert np.all(extra[len(dimer_chain.STRENGTHS) :] == 0)


def test_angles_are_degrees_and_constants_are_for_radians():
    frame = Frame(Harmonic(6.0, 5.0), theta=Harmonic(180.0, 100.0), beta=Harmonic(180.0, 100.0))
    energy = reduced(chain(frame, (0.0, 0.5), (6.0,), Wall(9.0, 5.0)), np.array([[6.0], [170.0], [180.0]]), T)[:, 0]
    full = 100.0 * math.radians(10.0) ** 2 / rt(T)
    assert energy == pytest.approx([0.0, 0.5 * full, full])


class TestWithPymbar:
    """The whole path: windows, MBAR with its guards, release."""

    @pytest.fixture(autouse=True)
    def _pymbar(self):
        pytest.importorskip("pymbar", reason="pymbar is not installed: pip install 'sophron[chem]'")

    def test_an_ideal_gas_guest_gives_the_analytic_value(self):
        """With its orientation restrained too; what binds it is the wall alone."""
        frame = Frame(Harmonic(5.0, 2.0), theta=Harmonic(180.0, 20.0), beta=Harmonic(180.0, 20.0))
        wall = Wall(8.0, 5.0)
        strengths = (0.0, 0.004, 0.02, 0.06, 0.15, 0.4)
        windows = chain(frame, strengths, [5.0 + 0.7 * place for place in range(9)], wall)
        answer = exact_reference.binding(dimer_chain.ideal_gas, wall, T)
        found = [
            binding(dimer_chain.sample(windows, dimer_chain.ideal_gas, T, 800, seed), windows, T) for seed in range(3)
        ]
        assert all(isinstance(each, Term) for each in found), found
        assert all(abs(each.value - answer) < 3 * each.statistical for each in found)
        assert all(each.statistical < 0.3 for each in found)

    @pytest.mark.parametrize("epsilon", [1.0, 3.0, 5.0])
    def test_the_dimer_from_independent_samples(self, epsilon):
        potential, windows = LennardJones(epsilon, dimer_chain.SIGMA_A), dimer_chain.windows()
        found = binding(dimer_chain.sample(windows, potential, T, 600, 5), windows, T, left(potential))
        assert isinstance(found, Term), found
        assert abs(found.value - exact_reference.binding(potential, lj_dimer.WALL, T)) < 3 * found.statistical

    @pytest.mark.parametrize(("product", "debye_length_a"), [(-1, math.inf), (-2, math.inf), (8, math.inf), (8, 9.6)])
    def test_charged_pairs_are_exact_although_they_still_feel_each_other(self, product, debye_length_a):
        charged = residual_interaction.ScreenedCoulomb(product, 78.4, debye_length_a)

        def potential(distance_a):
            return DIMER(distance_a) + charged(distance_a)

        windows = dimer_chain.windows()
        runs = dimer_chain.sample(windows, potential, T, 3000, 5)
        exact = exact_reference.binding(potential, lj_dimer.WALL, T)
        found = binding(runs, windows, T, left(potential))
        assert isinstance(found, Term), found
        assert found.value == pytest.approx(exact, abs=0.1)
        assert abs(left(potential).value) > (0.1 if debye_length_a == math.inf else 0.02)

    def test_windows_too_far_apart_are_refused(self):
        windows = chain(dimer_chain.FRAME, dimer_chain.STRENGTHS, (3.8, 4.4, 7.4, 8.0), lj_dimer.WALL)
        refused = binding(dimer_chain.sample(windows, DIMER, T, 300, 6), windows, T)
        assert isinstance(refused, Refusal)
        assert refused.reason is Reason.NO_OVERLAP
        assert refused.windows == (4, 5)

    def test_the_dimer_run_by_openmm(self):
        pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'sophron[chem]'")
        runs = dimer_chain.simulate(DIMER, T, lj_dimer.Sampling(samples=600, steps=100, seed=11))
        found = binding(runs, dimer_chain.windows(), T, left(DIMER))
        assert isinstance(found, Term), found
        off = abs(found.value - exact_reference.binding(DIMER, lj_dimer.WALL, T))
        assert off < 3 * found.statistical
