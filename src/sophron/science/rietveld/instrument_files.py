"""Reads what an instrument is from the parameter files of GSAS (`.prm`) and GSAS-II (`.instprm`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from sophron.interfaces.rietveld import Geometry, Instrument, Radiation
from sophron.records.errors import UserError, shown

LARGEST_BYTES = 1024**2
TO_FWHM2 = 8 * math.log(2) * 1e-4
"""U, V and W of both are variances in centidegrees^2; ours are FWHM^2 in degrees^2."""

CENTIDEGREE = 0.01
RADIATIONS: Mapping[str, Radiation] = {"PXC": "xray", "PNC": "neutron"}
GEOMETRIES: Mapping[str, Geometry] = {"Bragg-Brentano": "bragg_brentano", "Debye-Scherrer": "debye_scherrer"}


def read_instrument(path: Path, *, bank: int = 1) -> Instrument:
    """Read the instrument in `path`, of constant wavelength. UserError, with the key, for what is not there.

    If a file does not name the geometry, it is what GSAS-II takes for granted: flat and reflecting for a doublet, a
    capillary for one line. S/L and H/L of a `.prm` are read, which GSAS-II itself leaves out; an Instrument has their
    mean. GP and what comes after the eighth coefficient of a profile have no place in an Instrument.
    """
    read: Callable[[Path, str, int], Instrument]
    if path.suffix.lower() == ".instprm":
        read = _instprm
    elif path.suffix.lower() in (".prm", ".inst", ".ins", ".iprm"):
        read = _prm
    else:
        raise UserError(f"{path}: {shown(path.suffix)} is no instrument file; give a .prm or an .instprm")
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise UserError(f"{path}: larger than any instrument file; give a .prm or an .instprm")
        text = path.read_bytes().decode("latin-1")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; give a file that can be read") from None
    return read(path, text, bank)


def _prm(path: Path, text: str, bank: int) -> Instrument:
    """Cards of 80 columns: a key of 12, then fields of 10."""
    cards = {line[:12].rstrip(): line[12:80] for line in text.splitlines() if line.startswith("INS")}
    kind = _card(path, cards, "INS   HTYPE").strip()
    ins = f"INS {bank:>2}"
    constants = _card(path, cards, f"{ins} ICONS")
    wave1, wave2, zero = (_number(path, "ICONS", constants[at : at + 10]) for at in (0, 10, 20))
    polarization = _number(path, "ICONS", constants[40:50])
    ratio = _number(path, "ICONS", constants[55:65])
    values = {"Zero": zero * CENTIDEGREE, **_prm_profile(path, cards, ins)}
    if wave2:
        values |= {"Lam1": wave1, "Lam2": wave2, "I(L2)/I(L1)": ratio}
    else:
        values["Lam"] = wave1
    if kind.startswith("PXC") and polarization:
        values["Polariz."] = polarization
    return _instrument(path, kind, values)


def _prm_profile(path: Path, cards: Mapping[str, str], ins: str) -> dict[str, float]:
    """The first profile function of a bank, by GSAS-II's names. Theirs of types above 3 are not of both programs."""
    head = _card(path, cards, f"{ins}PRCF1").split()
    if not head or not head[0].lstrip("-").isdigit() or abs(int(head[0])) not in (1, 2, 3):
        raise UserError(
            f"{path}: PRCF1: profile function {shown(' '.join(head[:1]))}; give a file with function 1 to 3"
        )
    function = abs(int(head[0]))
    terms = [
        _number(path, key, field)
        for key in (f"{ins}PRCF11", f"{ins}PRCF12")
        for field in (cards.get(key, "")[at : at + 15] for at in (0, 15, 30, 45))
        if field.strip()
    ]
    if len(terms) < 3:
        raise UserError(f"{path}: PRCF11: {len(terms)} profile coefficients; give at least GU, GV and GW")
    terms += [0.0] * (8 - len(terms))
    values = dict(zip("UVW", terms, strict=False))
    if function == 2:
        values |= {"X": terms[3]}
    if function == 3:
        values |= {"X": terms[4], "Y": terms[5], "SH/L": terms[6] + terms[7]}
    return values


def _card(path: Path, cards: Mapping[str, str], key: str) -> str:
    if key not in cards:
        raise UserError(f'{path}: there is no line "{key}"; give a whole instrument file')
    return cards[key]


def _instprm(path: Path, text: str, bank: int) -> Instrument:
    """Lines of `key:value`, by banks if there are several; text after a triple quote is a comment or a program."""
    values: dict[str, str] = {}
    here = True
    for line in text.split('"""', maxsplit=1)[0].splitlines():
        if line.startswith("#Bank"):
            here = line.removeprefix("#Bank").split(":")[0].strip() == str(bank)
        elif here and not line.startswith("#"):
            values |= _pairs(line)
    if not values:
        raise UserError(f"{path}: there is no bank {bank}; name one that it has")
    kind, geometry = values.get("Type", ""), values.get("Diff-type", "")
    known = ("Lam", "Lam1", "Lam2", "I(L2)/I(L1)", "Zero", "Polariz.", "U", "V", "W", "X", "Y", "SH/L", "Gonio.radius")
    numbers = {key: _number(path, key, values[key]) for key in known if key in values}
    return _instrument(path, kind, numbers, GEOMETRIES.get(geometry))


def _pairs(line: str) -> dict[str, str]:
    """Of one line, which may hold several, with `;` between."""
    pairs = (part.partition(":") for part in line.split(";"))
    return {key.replace(" ", ""): value.strip() for key, colon, value in pairs if colon}


def _number(path: Path, key: str, text: str) -> float:
    try:
        value = float(text.strip() or "0")
    except ValueError:
        raise UserError(f'{path}: {key}: "{shown(text.strip())}" is no number; correct it') from None
    if not math.isfinite(value):
        raise UserError(f"{path}: {key}: {value} is not finite; correct it")
    return value


def _instrument(path: Path, kind: str, values: Mapping[str, float], named: Geometry | None = None) -> Instrument:
    radiation = RADIATIONS.get(kind[:3].upper())
    if radiation is None:
        raise UserError(
            f"{path}: {shown(kind) or 'no type'} is not of constant wavelength; give one of type PXC or PNC"
        )
    lines = tuple(values[key] for key in ("Lam1", "Lam2") if key in values) or (values.get("Lam", 0.0),)
    if not all(line > 0 for line in lines):
        raise UserError(f"{path}: no wavelength above 0; give Lam, or Lam1 and Lam2")
    geometry: Geometry = named or ("bragg_brentano" if len(lines) == 2 else "debye_scherrer")
    return Instrument(
        lines,
        geometry,
        ratio=values.get("I(L2)/I(L1)", 0.5),
        polarization=values.get("Polariz.", 0.5),
        radius_mm=values.get("Gonio.radius", 200.0),
        zero_deg=values.get("Zero", 0.0),
        profile_u=TO_FWHM2 * values.get("U", 0.0),
        profile_v=TO_FWHM2 * values.get("V", 0.0),
        profile_w=TO_FWHM2 * values.get("W", 0.0),
        profile_x=CENTIDEGREE * values.get("X", 0.0),
        profile_y=CENTIDEGREE * values.get("Y", 0.0),
        axial=values.get("SH/L", 0.0) / 2,
        radiation=radiation,
    )
