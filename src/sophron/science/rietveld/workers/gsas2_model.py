"""A GSAS-II project from plain data, and where in it each of our parameters lies."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from GSASII import GSASIIlattice as G2lat
from GSASII import GSASIIobj as G2obj
from GSASII import GSASIIscriptable as G2sc

from sophron.science.rietveld.workers.worker_loop import RequestError, first_sentence

TO_FWHM2 = 8 * math.log(2) * 1e-4
"""Their U, V and W are variances in centidegrees^2, ours FWHM^2 in degrees^2."""

CENTIDEGREE = 0.01
MICROMETRE_IN_MM = 1e-3
STRAIN = 1.8e-4 / math.pi
"""FWHM in degrees over tan(theta) of a microstrain of 1e-6 (their Mustrain)."""

BACKGROUNDS = {"chebyshev": "chebyschev-1"}
"""Kinds that they spell otherwise."""

_CELL = ("a", "b", "c", "alpha", "beta", "gamma")
_EQUAL_EDGES = {
    **{laue: {"b": "a", "c": "a"} for laue in ("m3", "m3m")},
    **{laue: {"b": "a", "c": "a", "beta": "alpha", "gamma": "alpha"} for laue in ("3R", "3mR")},
    **{laue: {"b": "a"} for laue in ("3", "3m1", "31m", "6/m", "6/mmm", "4/m", "4/mmm")},
}


@dataclass(frozen=True)
class Slot:
    """Where a value lies: `holder[index]`, GSAS-II's name of it; ours is factor * theirs^power.

    follows: our name of the parameter that sets it by symmetry, or "" if symmetry fixes it.
    """

    holder: Any
    index: Any
    variable: str
    factor: float = 1.0
    power: int = 1
    follows: str | None = None

    @property
    def theirs(self) -> float:
        """The value in their units."""
        return float(self.holder[self.index])

    @property
    def ours(self) -> float:
        """The value in ours."""
        return self.convert(self.theirs)

    def convert(self, theirs: float) -> float:
        """Ours for a value of theirs; infinite if a width was given as the inverse of nothing."""
        if self.power < 0 and theirs == 0:
            return math.inf
        return self.factor * theirs**self.power

    def slope(self) -> float:
        """Return how much ours changes with theirs, for an esd."""
        return abs(self.factor * self.power * self.theirs ** (self.power - 1)) if self.theirs else abs(self.factor)

    def put(self, ours: float) -> None:
        """Set it, in our units."""
        if self.power < 0 and not ours > 0:
            raise RequestError(f"{ours:g} is no width of a finite size; give one above 0")
        self.holder[self.index] = (ours / self.factor) ** self.power


class Model:
    """A project with one histogram, made of a document: phases, instrument, background, limits, values."""

    def __init__(self, document: dict[str, Any], limits: list[float], pattern: dict[str, Any]) -> None:
        random.seed(0)  # their identifiers of atoms and phases are random, and enter nothing else
        self.document = document
        self.project = G2sc.G2Project(newgpx=str(Path("model.gpx").absolute()))
        self.histogram = _histogram(self.project, document, limits, pattern)
        self.phases = [_phase(self.project, self.histogram, one) for one in document["phases"]]
        self.project.index_ids()
        self.slots = self._slots()
        for name, value in document["values"].items():
            slot = self.slots[name]
            slot.holder[slot.index] = value
        for phase in self.phases:
            cell = phase.data["General"]["Cell"]
            cell[7] = G2lat.calc_V(G2lat.cell2A(cell[1:7]))

    def reopen(self) -> None:
        """Take up what their program wrote into the project's file."""
        self.project.reload()
        self.histogram = self.project.histogram(self.histogram.name)
        self.phases = [self.project.phase(phase.name) for phase in self.phases]
        self.slots = self._slots()

    def values(self) -> dict[str, float]:
        """Return every value in their units, exactly."""
        return {name: slot.theirs for name, slot in self.slots.items()}

    def ours(self) -> dict[str, float]:
        """Return every value in our units."""
        return {name: slot.ours for name, slot in self.slots.items()}

    def hap(self, phase: Any) -> dict[str, Any]:
        """Return what their tables hold for a phase in the histogram."""
        found: dict[str, Any] = phase.data["Histograms"][self.histogram.name]
        return found

    def _slots(self) -> dict[str, Slot]:
        instrument = self.document["instrument"]
        inst = self.histogram.data["Instrument Parameters"][0]
        sample = self.histogram.data["Sample Parameters"]
        background = self.histogram.data["Background"][0]
        found = {f"background/{n}": Slot(background, 3 + n, f":0:Back;{n}") for n in range(background[2])}
        found["zero"] = Slot(inst["Zero"], 1, ":0:Zero")
        if instrument["geometry"] == "bragg_brentano":
            found["displacement"] = Slot(sample["Shift"], 0, ":0:Shift", MICROMETRE_IN_MM)
        else:
            found["absorption"] = Slot(sample["Absorption"], 0, ":0:Absorption")
        found |= {f"profile_{one.lower()}": Slot(inst[one], 1, f":0:{one}", TO_FWHM2) for one in "UVW"}
        found |= {f"profile_{one.lower()}": Slot(inst[one], 1, f":0:{one}", CENTIDEGREE) for one in "XY"}
        found["axial"] = Slot(inst["SH/L"], 1, ":0:SH/L", 0.5)
        for phase in self.phases:
            found |= self._of_phase(phase, 0.018 * instrument["wavelengths_angstrom"][0] / math.pi)
        return found

    def _of_phase(self, phase: Any, size: float) -> dict[str, Slot]:
        """size: FWHM in degrees times cos(theta) of crystallites of 1 micrometre (Scherrer constant 1, theirs)."""
        number, name, hap = phase.id, phase.name, self.hap(phase)
        found = {
            f"scale/{name}": Slot(hap["Scale"], 0, f"{number}:0:Scale"),
            f"size/{name}": Slot(hap["Size"][1], 0, f"{number}:0:Size;i", size, -1),
            f"strain/{name}": Slot(hap["Mustrain"][1], 0, f"{number}:0:Mustrain;i", STRAIN),
        }
        general = phase.data["General"]
        leads = free_cell(general["SGData"])
        for n, one in enumerate(_CELL):
            follows = leads[one] and f"cell/{name}/{leads[one]}"
            found[f"cell/{name}/{one}"] = Slot(general["Cell"], n + 1, f"{number}::A{n}", follows=follows)
        if self.march(phase):
            found[f"preferred_orientation/{name}"] = Slot(hap["Pref.Ori."], 1, f"{number}:0:MD")
        cx, ct, _, cia = general["AtomPtrs"]
        for n, atom in enumerate(phase.data["Atoms"]):
            label = atom[ct - 1]
            for axis, letter in enumerate("xyz"):
                found[f"{letter}/{name}/{label}"] = Slot(atom, cx + axis, f"{number}::dA{letter}:{n}")
            found[f"occupancy/{name}/{label}"] = Slot(atom, cx + 3, f"{number}::Afrac:{n}")
            found[f"u_iso/{name}/{label}"] = Slot(atom, cia + 1, f"{number}::AUiso:{n}")
        return found

    def march(self, phase: Any) -> bool:
        """Return whether the phase may have preferred orientation."""
        return any(one["march_axis"] is not None for one in self.document["phases"] if one["name"] == phase.name)

    def put(self, wanted: dict[str, float]) -> None:
        """Set values by our names. RequestError for a name that is not there, or that symmetry sets."""
        for name, value in wanted.items():
            slot = self.slots.get(name)
            if slot is None:
                raise RequestError(f'there is no parameter "{name}"; see the values of the state')
            if slot.follows is not None:
                raise RequestError(
                    f'"{name}" is set by symmetry{" from " + slot.follows if slot.follows else ""}; hold it'
                )
            slot.put(value)
            for other in self.slots.values():
                if other.follows == name:
                    other.put(value)


def free_cell(symmetry: dict[str, Any]) -> dict[str, str | None]:
    """Of each cell parameter: None if it is free, the name of the one it equals, "" where it is fixed."""
    laue = symmetry["SGLaue"]
    found: dict[str, str | None] = {one: None if one in "abc" else "" for one in _CELL}
    found |= _EQUAL_EDGES.get(laue, {})
    if laue in ("3R", "3mR"):
        found["alpha"] = None
    elif laue == "2/m":
        found[{"a": "alpha", "b": "beta", "c": "gamma"}[symmetry["SGUniq"]]] = None
    elif laue == "-1":
        found |= dict.fromkeys(("alpha", "beta", "gamma"))
    return found


def _histogram(project: Any, document: dict[str, Any], limits: list[float], pattern: dict[str, Any]) -> Any:
    """The pattern in the project. Weights 1/sigma^2; raw counts below 1 weigh as 1 does."""
    x, y = (np.asarray(pattern[key], dtype=float) for key in ("two_theta_deg", "intensity"))
    variance = np.asarray(pattern["sigma"]) ** 2 if "sigma" in pattern else np.maximum(y, 1.0)
    reader = G2obj.ImportPowderData("pattern", "a pattern that was read before")
    reader.powderentry = ["", 0, 1]
    reader.powderdata = [x, y, 1 / variance, np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)]
    reader.idstring = "pattern"
    given = document["instrument"]
    name, names, tree = G2sc.load_pwd_from_reader(reader, (_instrument(given), {}))
    tree["Sample Parameters"] = {**tree["Sample Parameters"], **_sample(given)}
    # They take the point after a limit too, unless the limit is one.
    within = x[(x >= limits[0]) & (x <= limits[1])]
    kept = [float(within[0]), float(within[-1])]
    tree["Limits"] = [(float(x[0]), float(x[-1])), kept, *(list(one) for one in document["excluded_deg"])]
    kind, count = document["background"]["kind"], document["background"]["count"]
    tree["Background"][0] = [BACKGROUNDS.get(kind, kind), False, count, document["background"]["start"]]
    if "interpolate" in kind:  # coefficients are counts at nodes
        tree["Background"][0] += [document["background"]["start"]] * (count - 1)
    else:
        tree["Background"][0] += [0.0] * (count - 1)
    project.data[name] = tree
    project.names.append(names)
    project.update_ids()
    return project.histogram(name)


def _instrument(given: dict[str, Any]) -> dict[str, list[Any]]:
    lines = given["wavelengths_angstrom"]
    kind = "PNC" if given["radiation"] == "neutron" else "PXC"
    values: dict[str, float] = {"Lam": lines[0]}
    if len(lines) == 2:
        values = {"Lam1": lines[0], "Lam2": lines[1], "I(L2)/I(L1)": given["ratio"]}
    values |= {"Zero": given["zero_deg"], "Polariz.": given["polarization"], "Azimuth": 0.0, "Z": 0.0}
    values |= {one: given[f"profile_{one.lower()}"] / TO_FWHM2 for one in "UVW"}
    values |= {one: given[f"profile_{one.lower()}"] / CENTIDEGREE for one in "XY"}
    values["SH/L"] = 2 * given["axial"]  # theirs is the sum of both
    found: dict[str, list[Any]] = {key: [value, value, False] for key, value in values.items()}
    return {"Type": [kind, kind, False], "Bank": [1, 1, 0], "Source": ["", ""], **found}


def _sample(given: dict[str, Any]) -> dict[str, Any]:
    """Scales are of phases, so the histogram's own is 1 and held."""
    found = {"Gonio. radius": given["radius_mm"], "Scale": [1.0, False]}
    if given["geometry"] == "bragg_brentano":
        if given["absorption"] is not None:
            raise RequestError(
                "instrument.absorption: GSAS-II has none for a flat specimen in reflection; leave it out"
            )
        held = {key: [0.0, False] for key in ("Transparency", "SurfRoughA", "SurfRoughB")}
        return {
            **found,
            "Type": "Bragg-Brentano",
            "Shift": [given["displacement_mm"] / MICROMETRE_IN_MM, False],
            **held,
        }
    if given["displacement_mm"]:
        raise RequestError("instrument.displacement_mm: of a flat specimen in reflection; give 0 for a capillary")
    held = {key: [0.0, False] for key in ("DisplaceX", "DisplaceY")}
    return {**found, "Type": "Debye-Scherrer", "Absorption": [given["absorption"] or 0.0, False], **held}


def _phase(project: Any, histogram: Any, given: dict[str, Any]) -> Any:
    """A phase from the text of a CIF. Their reader guesses if a CIF is wrong; what it guessed is refused."""
    path = Path(f"phase{len(project.phases())}.cif")
    path.write_text(given["cif"], encoding="utf-8")
    blocks = len(re.findall(r"^_cell_length_a\b", given["cif"], re.MULTILINE | re.IGNORECASE))
    if blocks > 1:
        raise RequestError(f"phase {given['name']}: its CIF describes {blocks} structures; give one")
    try:
        phase = project.add_phase(str(path), phasename=given["name"], histograms=[histogram], fmthint="CIF")
    except Exception as error:  # noqa: BLE001 - whatever it trips over is the CIF's fault
        said = first_sentence(str(error).replace(str(path.absolute()), "it"), 160)
        raise RequestError(f"phase {given['name']}: the CIF cannot be read ({said}); give one whole CIF") from None
    _check_phase(phase, given["name"])
    hap = phase.data["Histograms"][histogram.name]
    hap["Mustrain"][1][0] = 0.0
    if given["march_axis"] is not None:
        hap["Pref.Ori."][3] = [int(one) for one in given["march_axis"]]
    return phase


def _check_phase(phase: Any, name: str) -> None:
    said = first_sentence(str(phase.data.get("warnings") or ""), 160)
    if "ERROR" in said or "No space group" in said:
        raise RequestError(f"phase {name}: the CIF cannot be read ({said}); give one whole CIF")
    general, atoms = phase.data["General"], phase.data["Atoms"]
    cx, ct, cs, cia = general["AtomPtrs"]
    numbers = [*general["Cell"][1:7], *(value for atom in atoms for value in (*atom[cx : cx + 4], atom[cs + 1]))]
    if not atoms or not all(math.isfinite(float(one)) for one in numbers):
        raise RequestError(f"phase {name}: the CIF cannot be read (no atoms, or no numbers); give one whole CIF")
    volume = G2lat.calc_V(G2lat.cell2A(general["Cell"][1:7]))
    if not (math.isfinite(volume) and volume > 1.0):
        raise RequestError(f"phase {name}: the CIF cannot be read (a cell of no volume); give one whole CIF")
    labels = [atom[ct - 1] for atom in atoms]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise RequestError(f'phase {name}: two sites of the CIF are labelled "{twice}"; give each its own label')
    for atom in atoms:
        if atom[cia] == "A":  # the interface has isotropic displacement alone
            atom[cia + 1] = _equivalent(general["Cell"][1:7], atom[cia + 2 : cia + 8])
            atom[cia] = "I"


def _equivalent(cell: list[float], tensor: list[float]) -> float:
    """Isotropic U in angstrom^2 for U11, U22, U33, U12, U13, U23 (Trueblood 1996, 10.1107/S0108767396005697)."""
    metric = np.array(G2lat.fillgmat(cell))
    star = np.sqrt(np.diag(np.linalg.inv(metric)))
    u11, u22, u33, u12, u13, u23 = tensor
    full = np.array([[u11, u12, u13], [u12, u22, u23], [u13, u23, u33]])
    return float(np.sum(full * np.outer(star, star) * metric)) / 3
