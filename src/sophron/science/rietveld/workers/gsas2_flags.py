"""Set what may move in a cycle of GSAS-II: refinement flags and equivalences in its project."""

from __future__ import annotations

from typing import Any

import numpy as np
from GSASII import GSASIIspc as G2spc

from sophron.science.rietveld.workers.gsas2_model import Model
from sophron.science.rietveld.workers.worker_loop import RequestError

_INSTRUMENT = {"zero": "Zero", "axial": "SH/L", **{f"profile_{letter}": letter.upper() for letter in "uvwxy"}}
_SAMPLE = {"displacement": "Shift", "absorption": "Absorption"}
_ATOM = {"position": "X", "u_iso": "U", "occupancy": "F"}
_NOT_EQUAL = ("cell", "background")
"""Cells are refined as reciprocal metrics; a background has one flag for all of it."""


def free(
    model: Model, wanted: list[dict[str, Any]], equal: list[list[str]], sums: list[dict[str, Any]] | None = None
) -> None:
    """Set the flags. RequestError for a phase or an atom that is not there, and for what the geometry does not have."""
    for one in wanted:
        _free_one(model, one["group"], one["phase"], one["atom"])
    for names in equal:
        for some in _coordinates(model, names) if names[0].startswith("position/") else [names]:
            _equal(model, some, wanted)
    for one in sums or []:
        _sum(model, one["names"], one["total"], wanted)


def _coordinates(model: Model, names: list[str]) -> list[list[str]]:
    """The coordinates of tied atoms that their site leaves free, each by itself. RequestError for a diagonal site."""
    _, phase, atom = names[0].split("/")
    found = next((one for one in model.phases if one.name == phase), None)
    if found is None:
        raise RequestError(f'there is no phase "{phase}" to tie atoms of')
    _, ct, cs, _ = found.data["General"]["AtomPtrs"]
    row = next((one for one in found.data["Atoms"] if one[ct - 1] == atom), None)
    if row is None:
        raise RequestError(f'phase {phase} has no atom "{atom}" to tie')
    links = G2spc.GetCSxinel(row[cs])[0]
    moving = [(letter, link) for letter, link in zip("xyz", links, strict=True) if link]
    if len({link for _, link in moving}) != len(moving):
        raise RequestError(f'"{names[0]}" lies on a diagonal, along which GSAS-II ties no atoms; hold its position')
    return [[name.replace("position/", f"{letter}/", 1) for name in names] for letter, _ in moving]


def _sum(model: Model, names: list[str], total: float, wanted: list[dict[str, Any]]) -> None:
    """Keep a sum: the last value is what the others leave of it, and if one of them is free, all of them are."""
    _known(model, names)
    *others, last = names
    model.slots[last].put(total - sum(model.slots[name].ours for name in others))
    parts = [([*name.split("/"), None, None])[:3] for name in names]
    if any(_covers(one, part) for one in wanted for part in parts):
        for kind, phase, atom in parts:
            _free_one(model, str(kind), phase, atom)
        slots = [model.slots[name] for name in names]
        model.project.add_EqnConstr(total, [one.variable for one in slots], [one.factor for one in slots])


def _known(model: Model, names: list[str]) -> None:
    missing = next((name for name in names if name not in model.slots), None)
    if missing is not None:
        raise RequestError(f'there is no parameter "{missing}"; see the values of the state')


def _free_one(model: Model, group: str, phase: str | None, atom: str | None) -> None:
    data = model.histogram.data
    if group == "background":
        data["Background"][0][1] = True
    elif group in _INSTRUMENT:
        data["Instrument Parameters"][0][_INSTRUMENT[group]][2] = True
    elif group in _SAMPLE:
        if group not in model.slots:
            kind = model.document["instrument"]["geometry"]
            raise RequestError(f"{group} cannot be freed with the geometry {kind}: GSAS-II has none there; hold it")
        data["Sample Parameters"][_SAMPLE[group]][1] = True
    else:
        names = [one.name for one in model.phases]
        if phase is not None and phase not in names:
            raise RequestError(f'there is no phase "{phase}" to free {group} of; it has {", ".join(names)}')
        for one in model.phases:
            if phase in (None, one.name):
                _free_phase(model, one, group, atom)


def _free_phase(model: Model, phase: Any, group: str, atom: str | None) -> None:
    hap = model.hap(phase)
    if group == "cell":
        phase.data["General"]["Cell"][0] = True
    elif group == "scale":
        hap["Scale"][1] = True
    elif group == "preferred_orientation":
        if f"preferred_orientation/{phase.name}" not in model.slots:
            raise RequestError(
                f"phase {phase.name} has no march_axis, so preferred orientation cannot be freed; give one"
            )
        hap["Pref.Ori."][2] = True
    elif group in ("size", "strain"):
        hap["Size" if group == "size" else "Mustrain"][2][0] = True
    else:
        _free_atoms(phase, _ATOM[group], atom)


def _free_atoms(phase: Any, flag: str, wanted: str | None) -> None:
    ct = phase.data["General"]["AtomPtrs"][1]
    labels = [atom[ct - 1] for atom in phase.data["Atoms"]]
    if wanted is not None and wanted not in labels:
        raise RequestError(f'phase {phase.name} has no atom "{wanted}"; it has {", ".join(labels)}')
    for label, atom in zip(labels, phase.data["Atoms"], strict=True):
        if wanted in (None, label):
            atom[ct + 1] = "".join(sorted({*atom[ct + 1], flag}))


def _equal(model: Model, names: list[str], wanted: list[dict[str, Any]]) -> None:
    """Hold values equal: the first leads, and if one of them is free, all of them are."""
    _known(model, names)
    parts = [([*name.split("/"), None, None])[:3] for name in names]
    kind = parts[0][0]
    other = next((part[0] for part in parts if part[0] != kind), None)
    if other is not None:
        raise RequestError(f"{kind} and {other} cannot be held equal; name parameters of one kind")
    if kind in _NOT_EQUAL:
        raise RequestError(f'"{names[0]}" cannot be held equal in GSAS-II, which does not refine it as such; hold it')
    leader = model.slots[names[0]]
    for name in names[1:]:
        model.slots[name].put(leader.ours)
    if any(_covers(one, part) for one in wanted for part in parts):
        for _, phase, atom in parts:
            _free_one(model, "position" if kind in ("x", "y", "z") else str(kind), phase, atom)
        model.project.add_EquivConstr([model.slots[name].variable for name in names])


def _covers(freed: dict[str, Any], part: list[str | None]) -> bool:
    kind, phase, atom = part
    group = "position" if kind in ("x", "y", "z") else kind
    return freed["group"] == group and freed["phase"] in (None, phase) and freed["atom"] in (None, atom)


def other_background(document: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the document with another background, which begins where the old one was if it is of its kind."""
    before = document["background"]
    old = [document["values"][f"background/{n}"] for n in range(before["count"])]
    values = {name: value for name, value in document["values"].items() if not name.startswith("background/")}
    if wanted["kind"] == before["kind"]:
        count = wanted["count"]
        if "interpolate" in wanted["kind"]:
            kept = np.interp(np.linspace(0, 1, count), np.linspace(0, 1, len(old)), old).tolist()
        else:
            kept = (old + [0.0] * count)[:count]
        values |= {f"background/{n}": value for n, value in enumerate(kept)}
    return {**document, "background": wanted, "values": values}
