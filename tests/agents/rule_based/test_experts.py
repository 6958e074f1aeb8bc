"""The expert on analysis makes the sum of a cycle again, with the signs of the method whose terms are named."""

import pytest

from sophron.agents.rule_based.experts import judge_analysis

APR = {"attach_and_pull": 12.0, "release": -7.5, "symmetry": -0.41}
"""Costs; binding is -4.91 kcal/mol."""
DECOUPLING = {"decoupled_in_the_host": -30.0, "release": 7.0, "decoupled_alone": 18.5, "symmetry": 0.0}
"""As added; binding is -4.5 kcal/mol."""


def vote(terms, number):
    analysed = {
        "stage": 4,
        "status": "completed",
        "delta_g_kcal_per_mol": number,
        "statistical_error_kcal_per_mol": 0.2,
        "convergence_flags": {"blocks_agree": True},
        "energy_components": terms,
        "diagnostics": {"window_count": 12},
    }
    guests = {"one": {"stages": {"2": {"diagnostics": {"window_count": 12}}, "4": analysed}}}
    return judge_analysis({"mode": "post_benchmark", "results": {"windows": 12, "guests": guests}})


@pytest.mark.parametrize(
    ("terms", "number"),
    [
        (APR, -4.91),
        ({**APR, "protonation": 0.3}, -4.61),
        (DECOUPLING, -4.5),
        ({**DECOUPLING, "protonation": 0.3}, -4.2),
    ],
)
def test_a_cycle_that_adds_up_passes_and_another_fails(terms, number):
    assert vote(terms, number)["label"] == "pass"
    for wrong in (-number, number - 0.3):
        failed = vote(terms, wrong)
        assert failed["label"] == "fail"
        assert "off the sum of its terms" in failed["concerns"][0]["text"]


@pytest.mark.parametrize("terms", [{**APR, "ring_strain": 1.0}, {**APR, "symmetry": None}, {"release": 1.0}, {}])
def test_of_terms_whose_signs_nobody_knows_nothing_is_claimed(terms):
    assert vote(terms, 3.0)["label"] == "pass"
