"""Phonons with known answers: one mode by hand, limits of rates and capacities, meshes with a known end."""

from dataclasses import replace

import numpy as np
import pytest

from sophron.science.conductivity.phonon_transport import (
    METAL,
    Modes,
    anisotropy,
    conductivity,
    extrapolate_mesh,
    free_paths,
    mean,
    mode_capacity,
    zone_centre,
)


@pytest.fixture
def modes():
    """Two points of two bands; speeds 10 and 50 angstrom/ps, free paths of 100 to 5000 angstrom."""
    velocity = np.array([[[10.0, 0, 0], [0, 50, 0]], [[0, 0, 10], [30, 40, 0]]])
    a, b = np.array([(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]).T
    return Modes(
        volume=20.0,
        points=8,
        distance=np.array([0.01, 0.02]),
        frequency=np.array([[1.0, 5.0], [2.0, 20.0]]),
        speed=np.sqrt((velocity**2).sum(axis=-1)),
        velocities=velocity[..., a] * velocity[..., b],
        capacity=np.full((2, 2), METAL.boltzmann),
        anharmonic=np.array([[0.1, 0.01], [0.01, 0.1]]),
        isotope=np.array([[0.0, 0.01], [0.0, 1.0]]),
    )


def test_one_mode_by_hand(modes):
    alone = replace(modes, capacity=np.array([[METAL.boltzmann, 0.0], [0.0, 0.0]]))
    # k_B v^2 tau / V, in SI: 1.380649e-23 J/K x (1000 m/s)^2 x 10 ps / (160 cubic angstrom)
    expected = 1.380649e-23 * 1000.0**2 * 10e-12 / 160e-30
    np.testing.assert_allclose(conductivity(alone, isotopes=False), [expected, 0, 0, 0, 0, 0], rtol=1e-6)


def test_the_capacity_has_both_limits():
    frequency = np.array([0.0, 5.0, 30.0])
    np.testing.assert_allclose(mode_capacity(frequency, 1e6), METAL.boltzmann, rtol=1e-6)
    cold = mode_capacity(frequency, 5.0)
    assert cold[0] == pytest.approx(METAL.boltzmann, rel=1e-4)
    assert cold[1:].max() < 1e-15
    # Einstein's function at x = 1
    einstein = np.exp(1.0) / (np.exp(1.0) - 1) ** 2
    at = METAL.boltzmann * 300.0 / 4.135667696e-3
    assert mode_capacity(np.array([at]), 300.0)[0] / METAL.boltzmann == pytest.approx(einstein)


def test_walls_leave_their_own_limit_and_isotopes_add_up(modes):
    long, short = (mean(conductivity(modes, isotopes=False, length=length)) for length in (1e12, 1e-4))
    assert long == pytest.approx(mean(conductivity(modes, isotopes=False)), rel=1e-6)
    # Nothing but walls: c v L / 3, so the conductivity goes as the length.
    ballistic = METAL.boltzmann * modes.speed.sum() * 1e-4 / 3 / 160 * METAL.to_conductivity
    assert short == pytest.approx(ballistic, rel=1e-5)
    lengths = [mean(conductivity(modes, isotopes=False, length=length)) for length in (10, 100, 1000)]
    assert lengths == sorted(lengths)
    mixed = replace(modes, anharmonic=modes.anharmonic + modes.isotope)
    np.testing.assert_allclose(conductivity(modes, isotopes=True), conductivity(mixed, isotopes=False))
    assert mean(conductivity(modes, isotopes=True)) < mean(conductivity(modes, isotopes=False))


def test_free_paths_are_where_the_heat_is_carried(modes):
    # Contributions v^2 / rate: 1e3, 2.5e5, 1e4, 2.5e4 at free paths of 100, 5000, 1000, 500.
    paths = free_paths(modes, [0.001, 0.05, 0.1, 0.5, 1.0], isotopes=False)
    assert paths == pytest.approx([100, 500, 1000, 5000, 5000])


def test_a_tensor_that_is_not_cubic_is_seen():
    assert anisotropy(np.array([2.0, 2, 2, 0, 0, 0])) == 0
    assert anisotropy(np.array([2.0, 2, 2, 0, 0, -0.2])) == pytest.approx(0.1)
    assert anisotropy(np.array([1.0, 2, 3, 0, 0, 0])) == pytest.approx(0.5)


def test_translations_carry_nothing(modes):
    still = replace(modes, frequency=np.zeros((2, 2)), anharmonic=np.zeros((2, 2)))
    assert mean(conductivity(still, isotopes=False)) == 0


def test_a_line_in_the_inverse_mesh_ends_where_it_does():
    meshes = [9, 11, 15, 19]
    found = extrapolate_mesh(meshes, [500 - 900 / mesh for mesh in meshes])
    assert found.value == pytest.approx(500)
    assert found.error == pytest.approx(900 / 19 / 2)  # an exact line still pays for half of its last step
    bent = extrapolate_mesh(meshes, [500 - 9000 / mesh**2 for mesh in meshes])
    assert abs(bent.value - 500) < 2 * bent.error
    rough = extrapolate_mesh(meshes, [500, 520, 480, 510])
    assert rough.error > 20


def test_the_error_of_a_mesh_line_tells_of_one_mesh_that_moves_it():
    """As the finest of silicon carbide did, by the rate of one branch around the centre."""
    meshes, values = [10, 11, 12, 13, 14, 15, 16], [583.9, 581.1, 578.9, 591.6, 590.2, 587.3, 561.7]
    before, after = extrapolate_mesh(meshes[:-1], values[:-1]), extrapolate_mesh(meshes, values)
    assert after.error >= abs(after.value - before.value) > 30


def debye(mesh, *, length=None):
    """A simple cubic crystal, lattice constant 1, one speed, rates as distance^2: its mesh, and what it carries in all."""
    line = (np.arange(mesh) - mesh // 2) / mesh
    points = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
    distance = np.sqrt((points**2).sum(axis=1))
    toward = points / np.where(distance > 0, distance, 1.0)[:, None]
    a, b = np.array([(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]).T
    bands = np.ones((1, 3))
    made = Modes(
        volume=1.0, points=mesh**3, distance=distance, frequency=distance[:, None] * bands,
        speed=(distance > 0)[:, None] * bands, velocities=(toward[:, a] * toward[:, b])[:, None] * bands[..., None],
        capacity=bands * np.ones((mesh**3, 1)), anharmonic=distance[:, None] ** 2 * bands,
        isotope=0 * distance[:, None] * bands,
    )  # fmt: skip
    parts = (part(made, isotopes=False, length=length) for part in (conductivity, zone_centre))
    return [mean(part) / METAL.to_conductivity for part in parts]


@pytest.mark.parametrize("length", [None, 0.01])
def test_the_cell_around_the_centre_is_what_a_coarse_mesh_lacks(length):
    (coarse, centre), (fine, rest) = debye(9, length=length), debye(61, length=length)
    whole = fine + rest
    assert abs(coarse + centre - whole) < 0.1 * abs(coarse - whole)
    assert centre > 5 * rest


@pytest.mark.parametrize("meshes", [[9, 11], [11, 9, 15]])
def test_too_few_meshes_are_refused(meshes):
    with pytest.raises(ValueError, match="at least 3 ascending meshes"):
        extrapolate_mesh(meshes, [1.0] * len(meshes))
