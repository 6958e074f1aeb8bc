"""Ties of a shared site in both engines: occupancies that add up to 1, and one displacement for both atoms."""

import numpy as np
import pytest
from crystals import CIF

from sophron.interfaces.rietveld import Background, Freed, Instrument, Pattern, Phase, Request, Setup, Sum
from sophron.records.errors import UserError
from sophron.science.rietveld.refinement import Refinement

LIMIT_S = 300.0
ANGLES = np.arange(20.0, 100.0, 0.02)
SITES = "Sr1 Sr 0 0 0 {0} 0.008\nCa1 Ca 0 0 0 {1} 0.008\nTi1 Ti 0.5 0.5 0.5 1 0.005\nO1 O 0.5 0.5 0 1 0.009"
SHARED = (Sum(("occupancy/mixed/Sr1", "occupancy/mixed/Ca1"), 1.0),)
EQUAL = (("u_iso/mixed/Sr1", "u_iso/mixed/Ca1"),)


def setup(counts, strontium):
    atoms = SITES.format(strontium, round(1 - strontium, 3))
    phase = Phase("mixed", CIF.format(name="mixed", group="P m -3 m", edge=3.9, atoms=atoms))
    instrument = Instrument((1.5406,), profile_w=0.004, profile_x=0.02)
    return Setup(Pattern("mixed", ANGLES, counts), (phase,), instrument, Background("chebyshev", 3, 100.0))


@pytest.mark.parametrize("name", ["engine", "gsas2"])
def test_a_shared_site_is_refined_as_one(name, request, tmp_path):
    """Poisson counts (seed 5) of 0.7 strontium, refined from 0.5."""
    engine = request.getfixturevalue(name)
    order = 100.0 + 3000.0 * np.exp(-(((ANGLES - 32) / 8) ** 2))
    true = engine.start(setup(order, 0.7), limit_s=LIMIT_S)
    counts = np.random.default_rng(5).poisson(engine.calculate(true, ANGLES.tolist(), limit_s=LIMIT_S)).astype(float)
    refinement = Refinement.begin(engine, setup(counts, 0.5), tmp_path / "refinement")
    free = tuple(Freed(one) for one in ("scale", "background"))
    refinement.refine(Request(free, EQUAL, sums=SHARED, limit_s=LIMIT_S), "scale")
    shared = (*free, Freed("occupancy", "mixed", "Sr1"), Freed("u_iso", "mixed", "Sr1"))
    for _ in range(2):
        cycle = refinement.refine(Request(shared, EQUAL, sums=SHARED, limit_s=LIMIT_S), "shared")
        assert cycle.ended == "converged", cycle.reason
    values = cycle.state.values
    assert values["occupancy/mixed/Sr1"] + values["occupancy/mixed/Ca1"] == pytest.approx(1.0)
    assert values["u_iso/mixed/Sr1"] == pytest.approx(values["u_iso/mixed/Ca1"])
    found = cycle.fit.parameter("occupancy/mixed/Sr1")
    assert abs(found.value - 0.7) < 4 * found.esd_counting
    assert values["u_iso/mixed/Ti1"] == pytest.approx(0.005)
    assert cycle.fit.variables == 6


@pytest.mark.parametrize("name", ["engine", "gsas2"])
def test_a_tie_of_what_is_not_there_is_refused_in_one_sentence(name, request):
    engine = request.getfixturevalue(name)
    state = engine.start(setup(ANGLES + 100.0, 0.5), limit_s=LIMIT_S)
    wrong = Request((Freed("scale"),), sums=(Sum(("occupancy/mixed/Sr1", "occupancy/mixed/Xx"), 1.0),), limit_s=LIMIT_S)
    with pytest.raises(UserError, match='there is no parameter "occupancy/mixed/Xx"'):
        engine.refine(setup(ANGLES + 100.0, 0.5).pattern, state, wrong)
