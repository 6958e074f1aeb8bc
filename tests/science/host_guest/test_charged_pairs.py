"""Charged pairs through the whole analysis of attach-pull-release: within 0.1 kcal/mol of exact answers."""

import math

import numpy as np
import pytest

from sophron.science.estimators.refusal import Refusal
from sophron.science.host_guest.protocols import residual_interaction

from . import charged_pair
from .conftest import CHEM, charged

SALT = {"ions": (1.0, -1.0) * 10, "box_a": (60.0,) * 3}


@pytest.mark.parametrize(
    ("host", "guest", "more"),
    [(-1, 1, {}), (-2, 1, {}), (-4, -2, {}), (-2, 1, SALT), (-4, -2, SALT)],
    ids=["-1", "-2", "+8", "-2 in salt", "+8 in salt"],
)
def test_a_charged_pair_is_exact_because_the_last_window_is_counted(host, guest, more):
    pytest.importorskip("pymbar", reason=f"pymbar {CHEM}")
    made = charged_pair.experiment(float(host), float(guest), **more)
    found, exact = charged_pair.binding(made, host * guest, 1500, 3)
    assert not isinstance(found, Refusal), found
    assert found.total.value == pytest.approx(exact, abs=0.1)
    left = {leg.name: leg for leg in found.legs}[residual_interaction.NAME]
    assert abs(found.total.value - left.value - exact) > 0.5 * abs(left.value)
    assert found.total.systematic >= left.systematic > 0


def test_the_implicit_solvent_screens_where_they_are_released_as_the_term_says():
    openmm = pytest.importorskip("openmm", reason=f"OpenMM {CHEM}")
    system, coulomb, born = openmm.System(), openmm.NonbondedForce(), openmm.GBSAOBCForce()
    for charge in (-2.0, 1.0):
        system.addParticle(12.0)
        coulomb.addParticle(charge, 0.3, 0.0)
        born.addParticle(charge, 0.17, 0.8)
    system.addForce(coulomb)
    system.addForce(born)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))

    def energy(apart_a):
        context.setPositions([[0.0, 0.0, 0.0], [apart_a / 10, 0.0, 0.0]])
        return context.getState(getEnergy=True).getPotentialEnergy()._value / 4.184

    simulated = energy(14.0) - energy(1e6)
    term = residual_interaction.ScreenedCoulomb(-2.0, residual_interaction.IMPLICIT)(np.array([14.0]))[0]
    assert term == pytest.approx(-0.604, abs=1e-3)
    assert abs(simulated - term) < residual_interaction.PERMITTIVITY_ERROR * abs(term)
    assert residual_interaction.charges_of(charged(-2.0, 1.0)).debye_length_a == math.inf
