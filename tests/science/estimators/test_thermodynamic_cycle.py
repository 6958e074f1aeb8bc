import pytest

from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import Frame, Harmonic, release
from sophron.science.estimators.thermodynamic_cycle import Term, closure, total

from .analytic import standard_state, turned_on_in_space

T = 298.15


def test_uncertainties_stay_apart():
    found = total("binding", [Term("a", 1.0, 0.3, 0.1), Term("b", -4.0, 0.4, 0.2)])
    assert (found.value, found.statistical, found.systematic) == pytest.approx((-3.0, 0.5, 0.3))
    assert -found == Term("binding", -found.value, found.statistical, found.systematic)


def test_a_closed_cycle_is_zero():
    """Held at 1 mol/l, let go from there: two ways to one integral."""
    legs = [Term("on", turned_on_in_space(5.0, T)), Term("off", release(Frame(Harmonic(0.0, 5.0)), T))]
    assert closure(legs).value == pytest.approx(0, abs=1e-9)


def test_a_closed_cycle_through_three_volumes_is_zero():
    there = [Term(str(v), standard_state(v, T)) for v in (10.0, 500.0)]
    across = Term("10 to 500", standard_state(10.0, T) - standard_state(500.0, T))
    assert not isinstance(closure([-there[0], across, there[1]]), Refusal)


def test_a_wrong_sign_is_refused():
    legs = [Term("on", turned_on_in_space(5.0, T)), -Term("off", release(Frame(Harmonic(0.0, 5.0)), T))]
    refused = closure(legs)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.CYCLE_OPEN
    assert "10.5 kcal/mol" in refused.sentence


def test_noise_and_bounds_are_allowed_for():
    assert isinstance(closure([Term("a", 0.35, 0.1, 0.1)]), Term)
    assert isinstance(closure([Term("a", 0.45, 0.1, 0.1)]), Refusal)
