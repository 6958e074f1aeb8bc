import math

import numpy as np
import pytest
from scipy import integrate

from sophron.science.estimators.restraints import (
    STANDARD_VOLUME,
    Frame,
    Harmonic,
    release,
    rt,
)

from .analytic import standard_state, turned_on_in_space

T = 298.15


def apr(distance, k_distance, k_angle):
    return Frame(Harmonic(distance, k_distance), theta=Harmonic(180, k_angle), beta=Harmonic(180, k_angle))


@pytest.mark.parametrize(
    ("found", "exact"),
    [
        (turned_on_in_space(5.0, T), 5.2714),
        (turned_on_in_space(2.5, T), 4.6554),
        (rt(T) * math.log(STANDARD_VOLUME), 4.3932),
        (-standard_state(1.0, T), 4.3932),
        (rt(T) * math.log(2), 0.41068),
        (release(apr(24, 5, 100), T), -7.1415),
        (release(apr(18, 3, 100), T), -7.3310),
        (release(apr(18, 10, 100), T), -7.6878),
    ],
)
def test_exact_answers_to_a_thousandth(found, exact):
    assert found == pytest.approx(exact, abs=1e-3)
    assert found == pytest.approx(exact, abs=6e-5)  # as many digits as were written down


def test_release_is_the_integral_by_brute_force():
    frame = Frame(
        Harmonic(5.0, 2.0),
        theta=Harmonic(20, 3),
        phi=Harmonic(170, 1),
        alpha=Harmonic(-60, 0.5),
        beta=Harmonic(175, 2),
        gamma=Harmonic(0, 4),
    )
    unit = rt(T)

    def integral(weight, low, high, restraint, turn=0.0):
        def integrand(x):
            off = x - (math.radians(restraint.target) if turn else restraint.target)
            return weight(x) * math.exp(-restraint.k * off**2 / unit)

        return integrate.quad(integrand, low, high, limit=400)[0]

    z = integral(lambda r: r * r, 0, 20, frame.distance)
    for polar in (frame.theta, frame.beta):
        z *= integral(math.sin, 0, math.pi, polar, turn=1.0)
    for torsion in (frame.phi, frame.alpha, frame.gamma):
        middle = math.radians(torsion.target)
        z *= integral(lambda _: 1.0, middle - math.pi, middle + math.pi, torsion, turn=1.0)
    assert release(frame, T) == pytest.approx(unit * math.log(z / (8 * math.pi**2 * STANDARD_VOLUME)), abs=1e-7)


@pytest.mark.parametrize("theta", [60.0, 90.0, 120.0])
def test_boresch_closed_form_holds_for_stiff_restraints(theta):
    """Equation 32 of Boresch et al., with its constants K = 2 k."""
    k_r, k_angle, distance = 40.0, 500.0, 8.0
    frame = Frame(Harmonic(distance, k_r), *(Harmonic(at, k_angle) for at in (theta, 30.0, -110.0, 95.0, 179.0)))
    unit = rt(T)
    top = 8 * math.pi**2 * STANDARD_VOLUME * math.sqrt(2 * k_r * (2 * k_angle) ** 5)
    sines = math.sin(math.radians(theta)) * math.sin(math.radians(95.0))
    closed = -unit * math.log(top / (distance**2 * sines * (2 * math.pi * unit) ** 3))
    assert release(frame, T) == pytest.approx(closed, abs=1e-3)


def test_the_gaussian_form_is_wrong_at_180_degrees():
    """It would have sin(180) = 0; the integral is finite, and smooth in the target."""
    values = [release(Frame(Harmonic(6, 5), theta=Harmonic(at, 100)), T) for at in (178.0, 179.0, 180.0)]
    assert np.all(np.isfinite(values))
    assert values[0] > values[1] > values[2]
    assert values[0] - values[2] < 0.5


def test_a_weak_restraint_lets_go_for_free():
    """Free angles are those with a constant of nearly nothing."""
    weak = 1e-9
    loose = Frame(Harmonic(6, 5), *(Harmonic(90.0, weak) for _ in range(5)))
    assert release(loose, T) == pytest.approx(release(Frame(Harmonic(6, 5)), T), abs=1e-6)


def test_letting_go_of_a_point_is_turning_on_the_other_way_round():
    assert release(Frame(Harmonic(0.0, 5.0)), T) == pytest.approx(-turned_on_in_space(5.0, T), abs=1e-9)


@pytest.mark.parametrize(
    "wrong",
    [lambda: Harmonic(1.0, 0.0), lambda: Harmonic(float("nan"), 1.0), lambda: rt(0.0)],
)
def test_what_restrains_nothing_is_refused(wrong):
    with pytest.raises(ValueError):
        wrong()


def test_an_angle_out_of_range_is_refused():
    with pytest.raises(ValueError, match="190 degrees"):
        release(Frame(Harmonic(6, 5), theta=Harmonic(190, 100)), T)
