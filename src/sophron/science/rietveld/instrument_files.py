"""Reads what an instrument is from the parameter files of GSAS (`.prm`), GSAS-II (`.instprm`) and FullProf (`.irf`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from sophron.interfaces.rietveld import Geometry, Instrument, Radiation
from sophron.records.errors import UserError, shown

LARGEST_BYTES = 1024**2
KINDS = "a .prm, an .instprm or an .irf"
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
    read = READERS.get(path.suffix.lower())
    if read is None:
        raise UserError(f"{path}: {shown(path.suffix)} is no instrument file; give {KINDS}")
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise UserError(f"{path}: larger than any instrument file; give {KINDS}")
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


IRF_NUMBERS = {"WAVE": 3, "LAMB": 3, "ASYM": 2, "CTHM": 1, "RKK": 1, "JOBT": 0}
"""Keywords that are read, and how many numbers each may have."""

IRF_LEFT = ("THRG", "PROF", "PATT", "NPROF", "SIZE", "BKGR")
"""Keywords that say nothing that an Instrument has."""


def _irf(path: Path, text: str, bank: int) -> Instrument:
    """FullProf's resolution of type 1: `U V W X Y Z` of each wavelength, in degrees, after lines of keywords.

    Gaussian FWHM^2 = (U tan + V) tan + W, Lorentzian FWHM = X tan + Y / cos + Z: its X is our Y, its Y our X. A second
    line is of the second wavelength, and left out. The first line is a title.
    """
    del bank
    keys: dict[str, list[float]] = {}
    widths: list[list[float]] = []
    neutron = False
    for number, line in enumerate(text.splitlines()[1:], 2):
        words = line.split("!")[0].split()
        if not words:
            continue
        key = words[0].upper()
        if key == "JOBT":
            neutron = len(words) > 1 and words[1].upper().startswith("NEU")
        elif key in IRF_NUMBERS:
            keys[key] = [_number(path, key, word) for word in words[1 : 1 + IRF_NUMBERS[key]]]
        elif key[0].isalpha() and key not in IRF_LEFT and key != "UVWXYZ":
            raise UserError(f"{path}: line {number}: {shown(words[0])} is not read; give a resolution file of type 1")
        elif key not in IRF_LEFT:
            widths.append([_number(path, f"line {number}", word) for word in words if word.upper() != "UVWXYZ"])
    return _of_irf(path, keys, widths, neutron=neutron)


def _of_irf(path: Path, keys: Mapping[str, list[float]], widths: list[list[float]], *, neutron: bool) -> Instrument:
    if not widths or len(widths[0]) not in (3, 6):
        raise UserError(f"{path}: no line of U V W X Y Z; give a resolution file of type 1")
    u, v, w, strain, size, constant = [*widths[0], 0.0, 0.0, 0.0][:6]
    if constant:
        raise UserError(f"{path}: Z is {constant:g}, a constant Lorentzian width that no engine here has; give 0")
    wave = keys.get("WAVE") or keys.get("LAMB") or []
    if not wave:
        raise UserError(f"{path}: there is no line WAVE; add it, with the wavelengths in angstrom")
    two = len(wave) > 1 and wave[1] > 0 and wave[1] != wave[0] and (len(wave) < 3 or wave[2] > 0)
    share, mono = (keys.get("RKK") or [0.5])[0], (keys.get("CTHM") or [1.0])[0]
    whole = 1 - share + share * mono
    values = {
        **({"Lam1": wave[0], "Lam2": wave[1]} if two else {"Lam": wave[0]}),
        "I(L2)/I(L1)": wave[2] if len(wave) > 2 else 0.5,
        "Polariz.": 0.5 if neutron or whole <= 0 else (1 - share) / whole,
        "U": u / TO_FWHM2,
        "V": v / TO_FWHM2,
        "W": w / TO_FWHM2,
        "X": size / CENTIDEGREE,
        "Y": strain / CENTIDEGREE,
        "SH/L": sum(keys.get("ASYM", [])),
    }
    return _instrument(path, "PNC" if neutron else "PXC", values)


READERS: Mapping[str, Callable[[Path, str, int], Instrument]] = {
    ".instprm": _instprm,
    ".irf": _irf,
    **dict.fromkeys((".prm", ".inst", ".ins", ".iprm"), _prm),
}
