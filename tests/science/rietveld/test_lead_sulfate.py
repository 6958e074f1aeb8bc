"""PbSO4 of the round robin, from instrument file and pattern to a cell, where the files are."""

import pytest
from public_patterns import take

from sophron.interfaces.rietveld import Background, Freed, Phase, Request, Setup
from sophron.records.errors import UserError
from sophron.science.rietveld import pattern
from sophron.science.rietveld.instrument_files import read_instrument
from sophron.science.rietveld.refinement import Refinement

LIMIT_S = 300.0
A_ANGSTROM = 8.4647
"""By both engines from the whole pattern (bench/rietveld_lead_sulfate.py)."""


@pytest.fixture(params=["engine", "gsas2"])
def either(request):
    return request.getfixturevalue(request.param)


def test_neutrons(either, tmp_path):
    """Part of the pattern, without atoms: a first look, in seconds. bench/rietveld_lead_sulfate.py has the whole."""
    try:
        data, parameters, cif = take("PBSO4.CWN"), take("inst_d1a.prm"), take("PbSO4-Wyckoff.cif")
    except UserError as lack:
        pytest.skip(str(lack))
    found = pattern.read(data, either)
    assert found.two_theta_deg[0] == 10.0
    phases = (Phase("PbSO4", cif.read_text()),)
    setup = Setup(found, phases, read_instrument(parameters), Background(count=4, start=200.0), (19.0, 90.0))
    refinement = Refinement.begin(either, setup, tmp_path / "one")
    free = tuple(Freed(group) for group in ("scale", "background", "cell", "zero"))
    refinement.refine(Request(free[:2], limit_s=LIMIT_S), "scale")
    cycle = refinement.refine(Request(free, limit_s=LIMIT_S), "cell")
    assert cycle.ended == "converged", cycle.reason
    assert cycle.fit.rwp.percent < 15.0  # widths and atoms are as given
    assert cycle.fit.parameter("cell/PbSO4/a").value == pytest.approx(A_ANGSTROM, rel=1e-3)
    with pytest.raises(UserError, match="both free"):
        either.refine(found, refinement.current.state, Request((*free, Freed("displacement")), limit_s=LIMIT_S))
