"""What is refused before an engine is asked."""

from dataclasses import replace

import numpy as np
import pytest

from sophron.interfaces.rietveld import Background, Freed, Instrument, Pattern, Phase, Request, Setup, State
from sophron.records import entry_points
from sophron.records.errors import UserError
from sophron.science.rietveld.request_validation import check_pair, check_request, check_setup
from sophron.science.rietveld.rietx_engine import Rietx

HAS = Rietx().capabilities()
STATE = State("rietx", "1", {}, {}, Background(), (10.0, 20.0))
X = np.arange(10.0, 20.0, 0.02)
SETUP = Setup(Pattern("made", X, X), (Phase("one", "data_one"),), Instrument((1.5406,)))


def refused(request, state=STATE):
    with pytest.raises(UserError) as error:
        check_request(request, state, "rietx", HAS)
    return str(error.value)


def free(*groups):
    return Request(tuple(Freed(group) for group in groups))


def test_the_engine_is_found_by_name():
    assert entry_points.load("sophron.rietveld_engines", "rietx") is Rietx


def test_zero_and_displacement():
    assert "free one of them" in refused(free("scale", "zero", "displacement"))
    assert "hold zero" in refused(free("zero"), replace(STATE, moved=("displacement",)))
    assert "hold displacement" in refused(free("displacement"), replace(STATE, moved=("zero",)))
    check_request(free("scale", "zero"), replace(STATE, moved=("scale", "zero")), "rietx", HAS)


def test_the_pair_is_one_predicate_for_requests_and_for_trajectories():
    check_pair(["zero"], ["zero", "cell"])
    with pytest.raises(UserError, match="hold displacement"):
        check_pair(["displacement"], ["zero"])
    with pytest.raises(UserError, match="free one of them"):
        check_pair(["displacement", "cell", "zero"], [])


def test_what_an_engine_lacks():
    assert refused(free("absorption")).startswith("rietx cannot refine absorption: it takes")
    assert '"wavelength" is nothing that can be free' in refused(free("wavelength"))
    assert "background.kind" in refused(replace(free("scale"), background=Background("log interpolate")))
    assert "background.count: 0" in refused(replace(free("scale"), background=Background(count=0)))
    assert "nothing is free" in refused(free())
    assert "name the phase too" in refused(Request((Freed("u_iso", atom="O1"),)))
    assert "is none" in refused(replace(free("scale"), limit_s=0))
    assert "values: nan for zero" in refused(replace(free("scale"), values={"zero": float("nan")}))


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        (replace(SETUP, instrument=Instrument((154.06,))), "154.06 is none of powder diffraction"),
        (replace(SETUP, instrument=Instrument((float("nan"),))), "nan is none"),
        (replace(SETUP, instrument=Instrument((1.5443, 1.5405))), "not a doublet"),
        (replace(SETUP, instrument=Instrument(())), "0 lines"),
        (replace(SETUP, instrument=Instrument((1.5,), "time_of_flight")), "has no time_of_flight"),
        (replace(SETUP, instrument=Instrument((1.5,), radius_mm=0)), "no radius"),
        (replace(SETUP, instrument=Instrument((1.5,), polarization=2)), "no share"),
        (replace(SETUP, instrument=Instrument((1.5,), axial=float("inf"))), "instrument.axial: inf is not finite"),
        (replace(SETUP, instrument=Instrument((1.5,), radiation="electron")), "has no electron"),
        (replace(SETUP, instrument=Instrument((1.5405, 1.5443), radiation="neutron")), "neutrons of one wavelength"),
        (replace(SETUP, background=Background(start=float("nan"))), "background.start: nan"),
        (replace(SETUP, phases=()), "phases: there is none"),
        (replace(SETUP, phases=SETUP.phases * 2), "each its own"),
        (replace(SETUP, limits_deg=(30.0, 40.0)), "leaves 0 points of made"),
        (replace(SETUP, excluded_deg=((12.0, 11.0),)), "no range"),
        (replace(SETUP, excluded_deg=((9.0, 19.9),)), "leave at least 50"),
    ],
)
def test_a_setup_that_cannot_be(setup, said):
    with pytest.raises(UserError) as error:
        check_setup(setup, "rietx", HAS)
    assert said in str(error.value)


def test_limits_are_the_pattern_where_none_are_given():
    assert check_setup(SETUP, "rietx", HAS) == (X[0], X[-1])
