"""Patterns of GSAS: counts by several detectors, deviations, lists; and what is wrong with one."""

import numpy as np
import pytest
from public_patterns import take

from sophron.records.errors import UserError
from sophron.science.rietveld import pattern
from sophron.science.rietveld.pattern import read_gsas
from sophron.science.rietveld.rietx_engine import Rietx

POINTS = 60


def bank(kind, body, points=POINTS):
    return f"A title\nBANK 1 {points} {len(body)} CONST 1000 5 0 0 {kind}\n" + "\n".join(body) + "\n"


def std(detectors="  "):
    cells = [f"{detectors}{100 + n:6d}" for n in range(POINTS)]
    return ["".join(cells[at : at + 10]) for at in range(0, POINTS, 10)]


ESD = ["".join(f"{100 + at + n:8.1f}{5.5:8.1f}" for n in range(5)) for at in range(0, POINTS, 5)]
FXYE = [f"{1000 + 5 * n} {100 + n}.5 10.5" for n in range(POINTS)]


def written(tmp_path, text):
    path = tmp_path / "one.gsas"
    path.write_text(text)
    return path


def test_raw_counts_and_the_mean_of_detectors(tmp_path):
    raw = pattern.read(written(tmp_path, bank("STD", std())), Rietx())
    assert raw.two_theta_deg[[0, 1, -1]] == pytest.approx([10.0, 10.05, 12.95])
    assert raw.intensity[[0, -1]].tolist() == [100, 159]
    assert raw.sigma is None
    four = pattern.read(written(tmp_path, bank("", std(" 4"))), Rietx())
    assert four.sigma == pytest.approx(np.sqrt(four.intensity / 4))


def test_deviations_and_lists(tmp_path):
    found = pattern.read(written(tmp_path, bank("ESD", ESD)), Rietx())
    assert (found.intensity[7], found.sigma[7]) == (107.0, 5.5)
    listed = pattern.read(written(tmp_path, bank("FXYE", FXYE)), Rietx())
    assert (listed.two_theta_deg[2], listed.intensity[2], listed.sigma[2]) == pytest.approx((10.1, 102.5, 10.5))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (bank("STD", std()[:3]), "line 2 says 60 points, 30 follow; give the whole file"),
        (bank("STD", [*std()[:5], std()[5].replace("159", "1x9")]), 'line 8: "   1x9" is no number'),
        (bank("STD", std()) * 2, "2 banks; give a file with one"),
        (bank("STD", std()).replace("CONST 1000", "CONST abc"), "describes no bank"),
        (bank("FXYE", [*FXYE[:-1], "1 2"]), "line 62 has 2 columns, not 3"),
        (bank("ESD", [ESD[0].replace("5.5", "0.0"), *ESD[1:]]), "standard deviation at 10 degrees is not above 0"),
    ],
)
def test_what_is_wrong_with_one(tmp_path, text, said):
    path = written(tmp_path, text)
    with pytest.raises(UserError) as error:
        pattern.read(path, Rietx())
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_other_forms_are_left_to_the_engine(tmp_path):
    assert read_gsas(written(tmp_path, "no bank")) is None
    assert read_gsas(written(tmp_path, bank("STD", std()).replace("CONST", "SLOG"))) is None
    assert read_gsas(written(tmp_path, bank("ALT", std()))) is None


def test_both_engines_read_the_same(gsas2, engine, examples):
    """Their own readers and ours, on what each of them can say."""
    for name in ("FAP.XRA", "11BM_NAC.fxye"):
        ours = pattern.read(examples / name, engine)
        for one in (engine, gsas2):
            theirs = one.read_pattern(str(examples / name), limit_s=300)
            n = ours.intensity.size
            assert theirs.two_theta_deg[:n] == pytest.approx(ours.two_theta_deg, abs=1e-6)
            assert theirs.intensity[:n] == pytest.approx(ours.intensity)
            assert (theirs.sigma is None) == (ours.sigma is None)


def test_the_neutrons_of_lead_sulfate_were_counted_by_several_detectors(gsas2):
    try:
        path = take("PBSO4.CWN")
    except UserError as lack:
        pytest.skip(str(lack))
    ours, theirs = pattern.read(path, gsas2), gsas2.read_pattern(str(path), limit_s=300)
    n = theirs.intensity.size
    assert ours.two_theta_deg[:n] == pytest.approx(theirs.two_theta_deg, abs=1e-6)
    assert ours.sigma[:n] == pytest.approx(theirs.sigma)
