"""Instrument files of GSAS and GSAS-II: what they say, and what is wrong with one that says nothing."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from public_patterns import take

from sophron.interfaces.rietveld import Instrument
from sophron.records.errors import UserError
from sophron.science.rietveld.instrument_files import read_instrument

LABORATORY = """\
INS   BANK      1
INS   HTYPE   PXCR
INS  1 ICONS  1.540500  1.544300       2.0         0       0.7    0       0.5
INS  1PRCF1     3    8      0.01
INS  1PRCF11   2.000000E+00  -2.000000E+00   5.000000E+00   0.000000E+00
INS  1PRCF12   1.000000E+00   3.000000E+00   0.150000E-01   0.250000E-01
"""
INSTPRM = """\
#GSAS-II instrument parameter file; do not add/delete items!
#Bank 1: one
Type:PNC;Bank:1.0
Lam:1.909
Zero:-0.01
U:354.0
V:-760.0
W:651.0
#Bank 2: another
Type:PXC
Lam1:1.5405
Lam2:1.5443
Zero:0.0
Polariz.:0.7
U:2.0
V:-2.0
W:5.0
X:1.0
Y:3.0
SH/L:0.04
Gonio. radius:173.0
Diff-type:Debye-Scherrer
"""
VARIANCE = 5.545177444479562e-4


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_file_of_gsas(tmp_path):
    found = read_instrument(written(tmp_path, "one.PRM", LABORATORY))
    assert found.wavelengths_angstrom == (1.5405, 1.5443)
    assert (found.geometry, found.radiation) == ("bragg_brentano", "xray")
    assert (found.ratio, found.polarization) == (0.5, 0.7)
    assert found.zero_deg == pytest.approx(0.02)
    assert (found.profile_u, found.profile_v, found.profile_w) == pytest.approx(
        (2 * VARIANCE, -2 * VARIANCE, 5 * VARIANCE)
    )
    assert (found.profile_x, found.profile_y, found.axial) == pytest.approx((0.01, 0.03, 0.02))


def test_a_bank_of_gsas2(tmp_path):
    path = written(tmp_path, "two.instprm", INSTPRM)
    one, two = read_instrument(path), read_instrument(path, bank=2)
    assert (one.radiation, one.geometry, one.wavelengths_angstrom) == ("neutron", "debye_scherrer", (1.909,))
    assert one.profile_w == pytest.approx(651 * VARIANCE)
    assert (two.radiation, two.geometry, two.radius_mm, two.axial) == ("xray", "debye_scherrer", 173.0, 0.02)
    with pytest.raises(UserError, match="there is no bank 3"):
        read_instrument(path, bank=3)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("one.txt", LABORATORY, r"\.txt is no instrument file"),
        ("one.prm", "", 'there is no line "INS   HTYPE"'),
        ("one.prm", LABORATORY.replace("PXCR", "PNTR"), "PNTR is not of constant wavelength"),
        ("one.prm", LABORATORY.replace("1.540500", "  one   "), 'ICONS: "one" is no number'),
        ("one.prm", LABORATORY.replace("1.540500", "     nan"), "ICONS: nan is not finite"),
        ("one.prm", LABORATORY.replace("1.540500  1.544300", "0.000000  0.000000"), "no wavelength above 0"),
        ("one.prm", LABORATORY.replace("PRCF1     3", "PRCF1     4"), "profile function 4"),
        ("one.prm", LABORATORY.partition("INS  1PRCF11")[0], "0 profile coefficients"),
        ("one.instprm", "Lam:1.5\n", "no type is not of constant wavelength"),
        ("one.instprm", 'Type:PXC\nLam:"""import os"""\n', 'no wavelength above 0'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_one(tmp_path, name, text, said):
    path = written(tmp_path, name, text)
    with pytest.raises(UserError, match=said) as error:
        read_instrument(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_the_files_of_lead_sulfate():
    try:
        xray, neutron = take("INST_XRY.PRM"), take("inst_d1a.prm")
    except UserError as lack:
        pytest.skip(str(lack))
    assert read_instrument(xray) == Instrument(
        (1.5405, 1.5443),
        polarization=0.7,
        profile_u=2 * VARIANCE,
        profile_v=-2 * VARIANCE,
        profile_w=5 * VARIANCE,
        profile_x=0.0,
        axial=0.015,
    )
    found = read_instrument(neutron)
    assert (found.radiation, found.wavelengths_angstrom, found.zero_deg) == ("neutron", (1.909,), -0.001)
    assert found.profile_u == pytest.approx(354.031 * VARIANCE)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([LABORATORY, INSTPRM]),
    st.integers(0, 500),
    st.text(max_size=15),
    st.sampled_from([".prm", ".instprm"]),
)
def test_a_damaged_file_is_an_instrument_or_one_sentence(tmp_path, text, at, put, suffix):
    path = tmp_path / f"damaged{suffix}"
    path.write_text(text[:at] + put + text[at + len(put) :], encoding="utf-8", errors="replace")
    try:
        found, said = read_instrument(path), ""
    except UserError as error:
        found, said = None, str(error)
    assert "\n" not in said
    assert found is None or all(line > 0 for line in found.wavelengths_angstrom)


IRF = """An X-ray diffractometer, FullProf
! lines of keywords
JOBT  XRAY
WAVE  1.54056 1.54439 0.5
ASYM  0.02 0.01
CTHM  1.0
RKK   0.5
THRG  5.0 0.02 150.0
! U V W X Y Z
 0.004  -0.003  0.006  0.05  0.02  0.0
 0.004  -0.003  0.006  0.05  0.02  0.0
"""


def test_an_irf_of_fullprof(tmp_path):
    path = tmp_path / "a.irf"
    path.write_text(IRF)
    found = read_instrument(path)
    assert found.wavelengths_angstrom == (1.54056, 1.54439)
    assert found.geometry == "bragg_brentano"
    assert (found.profile_u, found.profile_v, found.profile_w) == pytest.approx((0.004, -0.003, 0.006))
    assert (found.profile_x, found.profile_y) == pytest.approx(
        (0.02, 0.05)
    )  # FullProf's Y is over cos, its X times tan
    assert found.axial == pytest.approx(0.015)
    assert found.polarization == pytest.approx(0.5)
    path.write_text(IRF.replace("JOBT  XRAY", "JOBT NEUT").replace(" 1.54439 0.5", ""))
    assert read_instrument(path).radiation == "neutron"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("WAVE", "! WAVE", "there is no line WAVE"),
        ("0.02  0.0\n", "0.02  0.1\n", "a constant Lorentzian width"),
        ("THRG", "D2TOF", "D2TOF is not read"),
        ("1.54056", "abc", '"abc" is no number'),
        ("0.004  -0.003", "0.004", "no line of U V W X Y Z"),
    ],
)
def test_an_irf_that_is_none_is_refused_in_one_sentence(before, after, said, tmp_path):
    path = tmp_path / "a.irf"
    path.write_text(IRF.replace(before, after))
    with pytest.raises(UserError, match=said):
        read_instrument(path)
