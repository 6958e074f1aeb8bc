"""200 broken inputs through reading and starting with each engine: one sentence each, no hang, no traceback.

SOPHRON_GSAS2_PYTHON=... python bench/rietveld_fuzz.py
"""

import importlib.util
import json
import random
import string
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from record import record

from sophron.interfaces.rietveld import Background, Instrument, Pattern, Phase, RietveldEngine, Setup
from sophron.records.errors import UserError
from sophron.science.rietveld import pattern
from sophron.science.rietveld.gsas2_engine import Gsas2
from sophron.science.rietveld.instrument_files import read_instrument
from sophron.science.rietveld.rietx_engine import Rietx

SEED = 20261122
LIMIT_S = 60.0
EACH = 40
"""Of each of five kinds."""

X = np.arange(20.0, 40.0, 0.1)
ODD = ["nan", "-1", "1e400", "inf", "--", "", "0x10", "1,5", "\uff11", "9" * 40]
SUFFIXES = [".xra", ".gsas", ".fxye", ".raw", ".xrdml", ".brml", ".cif", ".gpx", ".hdf5", ".xy", ".xye", ".csv", ".esd"]
HEADS = [
    "BANK 1 80 8 CONST 1000 10 0 0 STD\n",
    "BANK 1 80 16 CONST 1000 10 0 0 ESD\n",
    "BANK 1 80 80 CONST 1000 10 0 0 FXYE\n",
    "<?xml version='1.0'?><xrdMeasurements>",
    "RAW1.01",
    "data_x\nloop_\n_pd_meas_2theta_scan\n",
    "",
]
PRM = """INS   BANK      1
INS   HTYPE   PXCR
INS  1 ICONS  1.540500  1.544300       0.0         0       0.7    0       0.5
INS  1PRCF1     3    8      0.01
INS  1PRCF11   2.000000E+00  -2.000000E+00   5.000000E+00   0.000000E+00
INS  1PRCF12   0.000000E+00   0.000000E+00   0.150000E-01   0.150000E-01
"""


def damaged(chance: random.Random, text: str) -> str:
    """Text that was cut, overwritten or robbed of lines."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text) + 1)
        what = chance.choice(["cut", "put", "drop", "odd"])
        if what == "cut":
            text = text[:at]
        elif what == "put":
            put = "".join(chance.choices(string.printable, k=chance.randint(1, 12)))
            text = text[:at] + put + text[at + len(put) :]
        elif what == "drop":
            lines = text.splitlines()
            text = "\n".join(lines[:at] + lines[at + 1 :]) if at < len(lines) else text
        else:
            words = text.split(" ")
            words[chance.randrange(len(words))] = chance.choice(ODD)
            text = " ".join(words)
    return text


def columns(chance: random.Random, folder: Path) -> Path:
    """Two or three columns with gaps, doubles, negative counts and what is no number."""
    rows = [[f"{10 + 0.1 * n:.2f}", f"{50 + n % 7}"] for n in range(120)]
    for _ in range(chance.randint(1, 5)):
        row = chance.randrange(len(rows))
        what = chance.choice(["value", "gap", "negative", "double", "more"])
        if what == "value":
            rows[row][chance.randrange(2)] = chance.choice(ODD)
        elif what == "gap":
            del rows[row : row + chance.randint(1, 60)]
            rows = rows or [["1", "1"]]
        elif what == "negative":
            rows[row][1] = "-5"
        elif what == "double":
            rows.insert(row, list(rows[row]))
        else:
            rows[row].append("3")
    path = folder / f"columns{chance.choice(['.xy', '.xye', '.dat', '.csv'])}"
    path.write_text("\n".join(" ".join(row) for row in rows))
    return path


def other(chance: random.Random, folder: Path) -> Path:
    """Another format, or none: binary, empty, large, or true at its beginning only."""
    path = folder / f"other{chance.choice(SUFFIXES)}"
    what = chance.choice(["head", "head", "binary", "empty", "large"])
    counts = " ".join(chance.choice([*ODD, "100", "120", "90"]) for _ in range(chance.randint(0, 200)))
    if what == "head":
        path.write_text(chance.choice(HEADS) + counts)
    elif what == "binary":
        path.write_bytes(chance.choice([b"", b"\x80\x04", b"PK\x03\x04"]) + chance.randbytes(2000))
    elif what == "empty":
        path.write_bytes(b"")
    else:
        with path.open("wb") as stream:
            stream.truncate(70 * 1024**2)
    return path


def instrument(chance: random.Random) -> Instrument:
    """Numbers that no diffractometer has."""
    odd = [float("nan"), float("inf"), -1.0, 0.0, 1e-300, 1e9, 154.06]
    found = Instrument((1.5406,), radiation=chance.choice(["xray", "neutron", "electron"]))
    if chance.random() < 0.4:
        found = replace(found, wavelengths_angstrom=tuple(chance.choices([*odd, 1.54, 1.55], k=chance.randint(0, 3))))
    names = [
        "profile_w",
        "profile_x",
        "axial",
        "zero_deg",
        "displacement_mm",
        "radius_mm",
        "polarization",
        "absorption",
    ]
    return replace(found, **{name: chance.choice(odd) for name in chance.sample(names, 2)})


def setup(phase: str, given: Instrument) -> Setup:
    """A flat pattern with them."""
    return Setup(Pattern("flat", X, X + 100), (Phase("FAP", phase),), given, Background(count=2))


def started(engine: RietveldEngine, cif: str, given: Instrument | Path) -> object:
    """The state, with an instrument or its file."""
    found = read_instrument(given) if isinstance(given, Path) else given
    return engine.start(setup(cif, found), limit_s=LIMIT_S)


def cases(engine: RietveldEngine, cif: str, folder: Path) -> list[tuple[str, Callable[[], object]]]:
    """The same for each engine."""
    chance = random.Random(SEED)
    found: list[tuple[str, Callable[[], object]]] = []
    for number in range(EACH):
        here = folder / str(number)
        here.mkdir()
        parameters = here / f"one{chance.choice(['.prm', '.instprm'])}"
        parameters.write_text(damaged(chance, PRM))
        found += [
            ("columns", partial(pattern.read, columns(chance, here), engine)),
            ("format", partial(pattern.read, other(chance, here), engine)),
            ("cif", partial(started, engine, damaged(chance, cif), Instrument((1.5406,)))),
            ("instrument", partial(started, engine, cif, instrument(chance))),
            ("instrument file", partial(started, engine, cif, parameters)),
        ]
    return found


def measured(engine: RietveldEngine, cif: str) -> dict[str, object]:
    """Counts of what came of them, and what is no sentence."""
    came: Counter[str] = Counter()
    wrong, longest, timeouts = [], 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, call in cases(engine, cif, Path(folder)):
            began = time.monotonic()
            try:
                call()
                came[f"{kind}: taken"] += 1
            except UserError as error:
                said = str(error)
                came[f"{kind}: refused"] += 1
                timeouts += "no answer within" in said
                if "\n" in said or "Traceback" in said or not 10 < len(said) < 700:
                    wrong.append(said[:200])
            except Exception as error:  # noqa: BLE001 - the finding
                wrong.append(f"{kind}: {type(error).__name__}: {error}"[:200])
            longest = max(longest, time.monotonic() - began)
    engine.close()
    return {
        "came": dict(sorted(came.items())),
        "no_sentence": wrong,
        "timeouts": timeouts,
        "longest_s": round(longest, 1),
    }


def main() -> int:
    """Measure, print and record; 1 where anything but one sentence came of a broken input."""
    examples = Path(importlib.util.find_spec("rietx").origin).parent / "data" / "examples"
    cif = (examples / "fluorapatite.cif").read_text()
    result = {
        engine.name: measured(engine, cif) for engine in (Rietx(), Gsas2()) if engine.missing() is None
    } | {"seed": SEED, "inputs": 5 * EACH, "limit_s": LIMIT_S}  # fmt: skip
    record("rietveld_fuzz", result)
    print(json.dumps(result, indent=2))
    engines = [one for one in result.values() if isinstance(one, dict)]
    return 0 if not any(one["no_sentence"] or one["timeouts"] for one in engines) else 1


if __name__ == "__main__":
    sys.exit(main())
