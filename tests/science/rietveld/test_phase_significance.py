"""Verdicts on a minor phase: by thresholds alone, and never where the model as a whole is wrong."""

from dataclasses import replace

import numpy as np
import phase_significance
import pytest
from phase_significance import Thresholds

from sophron.interfaces.rietveld import Curves, Fit, Parameter, PhaseFit, Rwp
from sophron.records.errors import UserError

BY = Thresholds(not_claimed_below=3.0, claimed_from=5.0, misfit_percent=8.0, source="made up for this test")
EMPTY = Curves(*(np.zeros(0) for _ in range(5)), {})


def fit_made_up(scale, esd=1.0, rwp=10.0):
    minor = PhaseFit("minor", None, None, 9, 0.01, 0.002)
    scales = (Parameter("scale/main", 100.0, 1.0, 1.0), Parameter("scale/minor", scale, 3.0, esd))
    return Fit(Rwp(rwp, "made_up"), 0.0, 8.0, 0.0, 1.0, 99, 2, None, scales, (), (minor,), (), EMPTY)


@pytest.mark.parametrize(
    ("scale", "verdict"),
    [
        (-2.0, "not claimed"),
        (2.9, "not claimed"),
        (3.0, "nothing asserted"),
        (4.9, "nothing asserted"),
        (5.0, "claimed"),
    ],
)
def test_verdicts_by_significance(scale, verdict):
    found = phase_significance.of_minor_phase(fit_made_up(scale), "minor", BY)
    assert found.verdict == verdict
    assert found.significance == max(scale, 0.0)
    assert (found.weight_fraction is not None) == (verdict == "claimed")


def test_a_model_that_is_wrong_claims_nothing():
    wrong = fit_made_up(50.0, rwp=20.0)
    assert not phase_significance.is_adequate(wrong, BY)
    assert phase_significance.of_minor_phase(wrong, "minor", BY).verdict == "nothing asserted"


def test_the_esd_is_the_uncorrected_one():
    assert phase_significance.significance(fit_made_up(6.0, esd=2.0), "minor") == 3.0
    assert phase_significance.significance(fit_made_up(6.0, esd=None), "minor") == 0.0


def test_a_scale_that_was_not_free():
    fit = fit_made_up(1.0)
    with pytest.raises(UserError, match='the scale of "minor" was not free'):
        phase_significance.significance(replace(fit, parameters=fit.parameters[:1]), "minor")


def test_the_frozen_thresholds_leave_room_between():
    found = phase_significance.thresholds()
    assert 0 < found.not_claimed_below < found.claimed_from
    assert "bench/ladder.py" in found.source
