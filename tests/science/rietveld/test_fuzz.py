"""Broken inputs: each is read or refused in one sentence, and none of them hangs. bench/rietveld_fuzz.py has more."""

import string
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sophron.interfaces.rietveld import Background, Instrument, Pattern, Phase, Setup
from sophron.records.errors import UserError
from sophron.science.rietveld import pattern
from sophron.science.rietveld.rietx_engine import Rietx

PATIENCE_S = 60.0
QUICK = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

numbers = st.one_of(
    st.floats(0, 180).map(lambda value: f"{value:.4f}"),
    st.floats(allow_nan=True, allow_infinity=True).map(str),
    st.sampled_from(["nan", "-1", "1e400", "0x10", "1,5", "\uff11\uff12", "--", ""]),
)
rows = st.lists(st.lists(numbers, min_size=0, max_size=4).map(" ".join), max_size=70)


def outcome(call):
    """What `call` gave, or its one sentence; neither later than it may be."""
    began = time.monotonic()
    try:
        found = call()
    except UserError as error:
        said = str(error)
        assert "\n" not in said, said
        assert "Traceback" not in said, said
        assert 10 < len(said) < 700, said
        found = said
    assert time.monotonic() - began < PATIENCE_S
    return found


def good(count=80):
    return [f"{10 + 0.1 * number:.2f} {50 + number % 7}" for number in range(count)]


@settings(QUICK, max_examples=90)
@given(rows, st.sampled_from([".xy", ".xye", ".dat", ".csv"]), st.integers(0, 80), st.booleans())
@example(["0 0 1,5"], ".xy", 0, False)
def test_columns(tmp_path, broken, suffix, at, whole):
    lines = good()
    if whole:
        lines[at:at] = broken
    path = tmp_path / f"fuzzed{suffix}"
    path.write_text("\n".join(lines if whole else broken))
    found = outcome(lambda: pattern.read(path, Rietx()))
    if isinstance(found, Pattern):
        assert np.all(np.diff(found.two_theta_deg) > 0)
        assert np.all(np.isfinite(found.intensity))
        assert np.all(found.intensity >= 0)
    else:
        assert found.startswith(str(path))


HEADS = [
    "BANK 1 80 8 CONST 1000 10 0 0 STD\n",
    "_WAVELENGTH1=1.54\n",
    "<?xml version='1.0'?><xrdMeasurements>",
    "RAW1.01",
]


other_formats = given(
    st.tuples(st.sampled_from(HEADS), st.lists(numbers, max_size=90).map(" ".join)).map("".join),
    st.binary(max_size=300),
    st.sampled_from([".xra", ".raw", ".xrdml", ".gsas", ".uxd", ".brml", ".cif", ".gpx"]),
)


@settings(QUICK, max_examples=40)
@other_formats
def test_other_formats(engine, tmp_path, head, tail, suffix):
    check_format(engine, tmp_path, head, tail, suffix)


@settings(QUICK, max_examples=10)
@other_formats
def test_other_formats_with_gsas2(gsas2, tmp_path, head, tail, suffix):
    check_format(gsas2, tmp_path, head, tail, suffix)


def check_format(engine, tmp_path, head, tail, suffix):
    path = tmp_path / f"fuzzed{suffix}"
    path.write_bytes(head.encode() + tail)
    found = outcome(lambda: pattern.read(path, engine))
    assert isinstance(found, Pattern) or str(path) in found


damage = st.one_of(
    st.tuples(st.just("cut"), st.integers(0, 1200), st.just("")),
    st.tuples(st.just("put"), st.integers(0, 1200), st.text(string.printable, min_size=1, max_size=12)),
    st.tuples(st.just("drop"), st.integers(0, 24), st.just("")),
)


def damaged(cif, changes):
    for what, at, text in changes:
        if what == "cut":
            cif = cif[:at]
        elif what == "put":
            cif = cif[:at] + text + cif[at + len(text) :]
        else:
            cif = "\n".join(line for number, line in enumerate(cif.splitlines()) if number != at)
    return cif


@settings(QUICK, max_examples=40)
@given(st.lists(damage, min_size=1, max_size=3))
def test_broken_cif(engine, examples, changes):
    check_cif(engine, examples, changes)


@settings(QUICK, max_examples=15)
@given(st.lists(damage, min_size=1, max_size=3))
def test_broken_cif_with_gsas2(gsas2, examples, changes):
    check_cif(gsas2, examples, changes)


def check_cif(engine, examples, changes):
    cif = damaged((examples / "fluorapatite.cif").read_text(), changes)
    x = np.arange(20.0, 40.0, 0.1)
    setup = Setup(Pattern("flat", x, x + 100), (Phase("FAP", cif),), Instrument((1.5406,)), Background(count=2))
    found = outcome(lambda: engine.start(setup, limit_s=20))
    assert not isinstance(found, str) or "FAP" in found or found.startswith(f"{engine.name}, start: ")


instruments = st.builds(
    Instrument,
    st.lists(st.floats(), min_size=1, max_size=3).map(tuple),
    st.sampled_from(["bragg_brentano", "debye_scherrer", "transmission", "x"]),
    absorption=st.floats(),
) | st.builds(Instrument, st.just((1.5406,)), profile_w=st.floats(), axial=st.floats(), zero_deg=st.floats())


@settings(QUICK, max_examples=30)
@given(instruments, st.none() | st.tuples(st.floats(), st.floats()))
def test_wrong_instruments_and_limits(engine, examples, instrument, limits):
    check_setup(engine, examples, instrument, limits)


@settings(QUICK, max_examples=15)
@given(instruments, st.none() | st.tuples(st.floats(), st.floats()))
def test_wrong_instruments_and_limits_with_gsas2(gsas2, examples, instrument, limits):
    check_setup(gsas2, examples, instrument, limits)


def check_setup(engine, examples, instrument, limits):
    cif = (examples / "fluorapatite.cif").read_text()
    x = np.arange(20.0, 40.0, 0.1)
    setup = Setup(Pattern("flat", x, x + 100), (Phase("FAP", cif),), instrument, Background(count=2), limits)
    found = outcome(lambda: engine.start(setup, limit_s=20))
    if limits and not limits[0] < limits[1]:  # NaN too: there is no pattern between such limits
        assert isinstance(found, str)


def test_a_phase_that_is_no_crystal_says_so(engine):
    check_no_crystal(engine)


def test_a_phase_that_is_no_crystal_says_so_with_gsas2(gsas2):
    check_no_crystal(gsas2)


def check_no_crystal(engine):
    x = np.arange(20.0, 40.0, 0.1)
    setup = Setup(Pattern("flat", x, x + 100), (Phase("FAP", "data_nothing\n"),), Instrument((1.5406,)))
    with pytest.raises(UserError, match="phase FAP: the CIF cannot be read"):
        engine.start(setup)
