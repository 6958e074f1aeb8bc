"""Six formats give the same pattern; forty broken files are read right or refused in one sentence."""

import numpy as np
import pytest

from sophron.records.errors import UserError
from sophron.science.rietveld import pattern

START, STEP, POINTS = 10.0, 0.02, 200
ANGLES = START + STEP * np.arange(POINTS)
COUNTS = np.random.default_rng(3).poisson(100 + 900 * np.exp(-(((ANGLES - 12) / 0.1) ** 2)))
END = ANGLES[-1]


def lines(values, width):
    return "\n".join(" ".join(str(one) for one in values[at : at + width]) for at in range(0, len(values), width))


def columns(*others, every=1):
    return "\n".join(" ".join(f"{one:.4f}" for one in row) for row in zip(ANGLES, *others, strict=True))


UXD = (
    f"_FILEVERSION=2\n_SAMPLE='x'\n_STEPCOUNT={POINTS}\n_STEPSIZE={STEP}\n_START={START}\n_COUNTS\n{lines(COUNTS, 8)}\n"
)
UXD_PAIRS = f"_FILEVERSION=2\n_STEPCOUNT={POINTS}\n_2THETACOUNTS\n{columns(COUNTS)}\n"
GSAS = f"a title\nBANK 1 {POINTS} 20 CONST {100 * START} {100 * STEP} 0 0 STD\n" + "\n".join(
    "".join(f"{one:8d}" for one in COUNTS[at : at + 10]) for at in range(0, POINTS, 10)
)
DAT = f"{START} {STEP} {END:.2f} a sample\n{lines(COUNTS, 10)}\n"
CIF = (
    "data_x\nloop_\n_pd_meas_2theta_scan\n_pd_meas_counts_total\n"
    + "\n".join(f"{x:.4f} {y}" for x, y in zip(ANGLES, COUNTS, strict=True))
    + "\n"
)
XYE = columns(COUNTS, np.sqrt(COUNTS))
FORMATS = {
    "a.xy": columns(COUNTS),
    "a.xye": XYE,
    "a.gsas": GSAS,
    "a.raw": GSAS,
    "a.cif": CIF,
    "a.uxd": UXD,
    "b.uxd": UXD_PAIRS,
    "a.dat": DAT,
    "b.dat": f"! FullProf\nTitle of it\n{DAT}",
    "c.dat": columns(COUNTS),
    "a.csv": columns(COUNTS).replace(" ", ","),
}


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_gives_the_pattern(name, engine, tmp_path):
    path = tmp_path / name
    path.write_text(FORMATS[name])
    read = pattern.read(path, engine)
    assert read.two_theta_deg == pytest.approx(ANGLES, abs=1e-4)
    assert read.intensity == pytest.approx(COUNTS)


def cut(text, share=0.5):
    return text[: int(len(text) * share)]


def without(text, start):
    return "\n".join(line for line in text.splitlines() if not line.startswith(start))


BROKEN = {
    "eight.xy": lines(COUNTS, 8),
    "four.xy": columns(COUNTS, COUNTS, COUNTS),
    "words.xy": columns(COUNTS).replace("10.2000", "abc"),
    "nan.xy": columns(COUNTS).replace("10.2000", "nan"),
    "short.xy": "\n".join(columns(COUNTS).splitlines()[:20]),
    "empty.xy": "",
    "one-line.xy": columns(COUNTS).replace("\n", " "),
    "falls.xy": "\n".join(reversed(columns(COUNTS).splitlines())),
    "twice.xy": columns(COUNTS) + "\n" + columns(COUNTS),
    "gap.xy": "\n".join(columns(COUNTS).splitlines()[:60] + columns(COUNTS).splitlines()[140:]),
    "negative.xy": columns(COUNTS - 500),
    "zeros.xy": columns(COUNTS * 0),
    "utf16.xy": "\x00".join(columns(COUNTS)),
    "radians.xy": columns(COUNTS).replace("10.", "210."),
    "five.xye": columns(COUNTS, COUNTS, COUNTS, COUNTS),
    "no-sigma.xye": columns(COUNTS, COUNTS * 0),
    "two.xye": columns(COUNTS),
    "cut.dat": cut(DAT),
    "more.dat": DAT + lines(COUNTS, 10),
    "back.dat": DAT.replace(f"{START} {STEP} {END:.2f}", f"{END:.2f} {STEP} {START}"),
    "step.dat": DAT.replace(f" {STEP} ", " 0.04 "),
    "no-step.dat": DAT.replace(f" {STEP} ", " 0 "),
    "words.dat": DAT.replace(" ", " x ", 40),
    "head.dat": DAT.splitlines()[0],
    "cut.uxd": cut(UXD),
    "no-start.uxd": without(UXD, "_START"),
    "no-step.uxd": without(UXD, "_STEPSIZE"),
    "no-counts.uxd": without(UXD, "_COUNTS"),
    "ranges.uxd": UXD + UXD,
    "count.uxd": UXD.replace(f"_STEPCOUNT={POINTS}", "_STEPCOUNT=4001"),
    "start.uxd": UXD.replace(f"_START={START}", "_START=ten"),
    "odd.uxd": UXD_PAIRS + "14.1\n",
    "words.uxd": UXD.replace(str(COUNTS[20]), "n/a"),
    "cut.gsas": cut(GSAS),
    "bank.gsas": GSAS.replace("CONST 1000.0", "CONST ten"),
    "banks.gsas": GSAS + "\n" + GSAS,
    "no-bank.gsas": without(GSAS, "BANK"),
    "cut.cif": CIF.replace("_pd_meas_counts_total\n", ""),
    "no-angle.cif": CIF.replace("_pd_meas_2theta_scan\n", "_other\n"),
    "structure.cif": "data_x\n_cell_length_a 5\n_cell_length_b 5\n_cell_length_c 5\n",
    "nothing.xyz": "hello\n",
    "picture.raw": "\x89PNG\r\n" + "\x00" * 200,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_in_one_sentence(name, engine, tmp_path):
    path = tmp_path / name
    path.write_text(BROKEN[name], encoding="latin-1")
    with pytest.raises(UserError) as refused:
        pattern.read(path, engine)
    said = str(refused.value)
    assert name in said
    assert "\n" not in said
    assert "Traceback" not in said


def test_there_are_forty():
    assert len(BROKEN) >= 40
