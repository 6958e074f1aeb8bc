"""What host and guest still feel where they are released: exact for point charges, refused if it is not known."""

import math

import numpy as np
import pytest

from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import Harmonic
from sophron.science.host_guest.protocols import residual_interaction

from .conftest import CHEM, T, charged, ghost


def test_the_mean_over_a_stiff_restraint_is_the_energy_at_its_target():
    potential = residual_interaction.ScreenedCoulomb(-1.0, 78.4)
    assert residual_interaction.residual(potential, Harmonic(18.0, 5.0), T) == pytest.approx(-0.2353, abs=3e-4)
    assert residual_interaction.residual(np.zeros_like, Harmonic(18.0, 5.0), T) == 0


def test_the_debye_length_of_a_tenth_molar_salt():
    ions, volume = 12, 12 / (2 * 0.1 * 6.02214076e-4)
    assert residual_interaction.debye_length(ions, volume, 78.4, T) == pytest.approx(9.6, abs=0.05)
    assert residual_interaction.debye_length(0.0, volume, 78.4, T) == math.inf


def test_a_guest_without_charge_feels_nothing():
    found = residual_interaction.of_experiment(charged(host=1.0))
    assert (found.value, found.systematic) == (0.0, 0.0)
    assert residual_interaction.of_experiment(ghost(((0.5,), (4.0, 8.0)))).value == 0.0


@pytest.mark.parametrize("product", [-1.0, -2.0])
def test_charges_are_a_term_with_an_error(product):
    found = residual_interaction.of_experiment(charged(host=product, guest=1.0))
    # The restrained distance is counted from a dummy 4 Angstrom behind the host.
    assert found.value == pytest.approx(332.064 * product / (78.5 * 14.0), rel=0.03)
    assert 0.1 * abs(found.value) < found.systematic < 0.15 * abs(found.value)


def test_ions_of_the_box_screen():
    bare = residual_interaction.of_experiment(charged(-1.0, 1.0, box_a=(60.0,) * 3))
    salt = residual_interaction.of_experiment(charged(-1.0, 1.0, ions=(1.0, -1.0) * 10, box_a=(60.0,) * 3))
    length = residual_interaction.debye_length(20, 60.0**3, 94.0, T)
    assert salt.value / bare.value == pytest.approx(math.exp(-14.0 / length), rel=0.02)


def test_a_correction_is_refused_for_its_uncertainty_and_not_for_its_size():
    refused = residual_interaction.of_experiment(charged(-8.0, 1.0, far=12.0))
    assert isinstance(refused, Refusal)
    assert (refused.reason, refused.windows) == (Reason.STILL_INTERACTING, (2,))
    farther = residual_interaction.of_experiment(charged(-8.0, 1.0))
    assert farther.value < -2
    assert farther.systematic < 0.3


def test_water_and_virtual_sites_are_no_ions():
    openmm = pytest.importorskip("openmm", reason=f"OpenMM {CHEM}")
    made = charged(-1.0, 1.0, ions=(0.5, 0.5, 0.0), box_a=(60.0,) * 3)
    first = made.system.getNumParticles() - 3
    made.system.addConstraint(first, first + 1, 0.1)  # two of them are one molecule now, the third has no charge
    assert residual_interaction.charges_of(made).debye_length_a == math.inf
    assert residual_interaction.charges_of(made).permittivity == residual_interaction.THREE_SITES
    made.system.setParticleMass(first + 2, 0.0)
    made.system.setVirtualSite(first + 2, openmm.TwoParticleAverageSite(first, first + 1, 0.5, 0.5))
    assert residual_interaction.charges_of(made).permittivity == residual_interaction.FOUR_SITES
