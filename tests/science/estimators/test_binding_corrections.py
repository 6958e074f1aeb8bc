import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophron.science.estimators.binding_corrections import locked_symmetry, protonation, symmetry
from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import rt
from sophron.science.estimators.thermodynamic_cycle import Term

T = 298.15
RT_LN_2 = 0.41068
NUMBERS = st.floats(-5, 20)


def test_a_host_of_two_portals_of_which_one_is_locked():
    assert locked_symmetry(2, T) == pytest.approx(-RT_LN_2, abs=1e-5)
    stayed = symmetry([400, 0], T)
    assert stayed.value == pytest.approx(-RT_LN_2, abs=1e-5)
    assert 0 < stayed.systematic < 0.01


def test_a_host_of_one_portal_has_no_term():
    assert symmetry([400], T) == Term("symmetry", 0.0)


def test_a_guest_that_goes_to_and_fro_has_counted_both_already():
    both = symmetry([210, 190], T)
    assert both.value == 0
    assert both.systematic == pytest.approx(0.09, abs=0.02)
    assert symmetry([2100, 1900], T).systematic < both.systematic


@pytest.mark.parametrize("visits", [[300, 100], [9, 1], [35, 15], [1, 0], [5, 0], [5, 5], [399, 1], [40, 40, 10]])
def test_anything_between_or_too_little_is_refused(visits):
    refused = symmetry(visits, T)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.SITES_UNEQUAL
    assert ", ".join(map(str, visits)) in refused.sentence


def passed(total, share):
    """How probable it is that a guest with this share of one of two sites gets a term."""
    stats = pytest.importorskip("scipy.stats")
    terms = (symmetry([count, total - count], T) for count in range(total + 1))
    return sum(
        stats.binom.pmf(count, total, share) for count, term in enumerate(terms) if not isinstance(term, Refusal)
    )


@pytest.mark.parametrize("total", [10, 30, 100, 300])
@pytest.mark.parametrize("shift", [0.21, 0.3])
def test_a_share_that_shifts_the_result_by_more_passes_in_one_of_forty_at_most(total, shift):
    assert passed(total, 0.5 * math.exp(-shift / rt(T))) <= 0.025


def test_the_test_has_power():
    assert passed(100, 0.5) > 0.5
    assert passed(300, 0.5) > 0.95
    assert passed(20, 1.0) == 1


@pytest.mark.parametrize("visits", [[], [0, 0], [5, -1]])
def test_no_samples_are_no_condition(visits):
    with pytest.raises(ValueError, match="samples of the bound window"):
        symmetry(visits, T)


@pytest.mark.parametrize("protonated", [True, False])
def test_half_protonated_costs_rt_ln_2(protonated):
    assert protonation(7.0, 7.0, T, simulated_protonated=protonated) == pytest.approx(RT_LN_2, abs=1e-5)


def test_the_form_that_is_there_anyway_costs_nothing():
    assert protonation(7.4, 11.0, T, simulated_protonated=True) == pytest.approx(0, abs=1e-3)
    assert protonation(9.4, 4.0, T, simulated_protonated=False) == pytest.approx(0, abs=1e-3)


def test_the_form_that_is_rare_costs_its_rarity():
    assert protonation(10.0, 7.0, T, simulated_protonated=True) == pytest.approx(
        3 * math.log(10) / math.log(2) * RT_LN_2, abs=1e-3
    )


@given(NUMBERS, NUMBERS, NUMBERS)
def test_both_forms_lead_to_one_answer(ph, free, bound):
    """K_protonated / K_deprotonated = 10^(bound - free): the cycle over protonation closes."""
    acid = protonation(ph, free, T, simulated_protonated=True, pka_bound=bound)
    base = protonation(ph, free, T, simulated_protonated=False, pka_bound=bound)
    per_unit = RT_LN_2 / math.log(2) * math.log(10)
    assert acid - base == pytest.approx((bound - free) * per_unit, abs=1e-3 + 1e-5 * abs(bound - free))


@given(NUMBERS, NUMBERS)
def test_a_host_that_binds_one_form_is_the_limit(ph, free):
    limit = protonation(ph, free, T, simulated_protonated=True, pka_bound=300.0)
    assert protonation(ph, free, T, simulated_protonated=True) == pytest.approx(limit, abs=1e-9)
