"""Names of parameters: ours (`cell/FAP/a`) and rietx's paths (`phases.0.cell.a`)."""

from __future__ import annotations

import math
from typing import Any

from sophron.science.rietveld.workers.worker_loop import RequestError

U_TO_B = 8 * math.pi**2

_INSTRUMENT = {
    "zero": "instrument.zero_shift",
    "displacement": "instrument.geometry.sample_displacement",
    **{f"profile_{letter}": f"instrument.profile.{letter}" for letter in "uvwxy"},
    "axial": "instrument.geometry.axial_sl",
}
HEIGHT = "instrument.geometry.axial_hl"
"""Of the specimen over the radius; held equal to that of the detector's slit."""
_PHASE = {
    "scale": "scale",
    "size": "lor_size",
    "strain": "lor_strain",
    "preferred_orientation": "preferred_orientation.r",
}
_ATOM = {"x": "x", "y": "y", "z": "z", "u_iso": "biso", "occupancy": "occ"}
_GLOBS = {"background": "instrument.background.*", **_INSTRUMENT}
_PHASE_GLOBS = {**_PHASE, "cell": "cell.*"}
_ATOM_GLOBS = {"position": "dof.*", "u_iso": "biso", "occupancy": "occ"}


def name(path: str, structure: Any) -> str | None:
    """Return our name of a path; None for one that we do not speak of."""
    parts = path.split(".")
    if path.startswith("instrument.background.c"):
        return f"background/{parts[2][1:]}"
    for ours, theirs in _INSTRUMENT.items():
        if path == theirs:
            return ours
    if parts[0] != "phases":
        return None
    phase = structure.phases[int(parts[1])]
    if parts[2] == "cell":
        return f"cell/{phase.name}/{parts[3]}"
    if parts[2] == "atoms":
        label = phase.atoms[int(parts[3])].label
        called = {theirs: ours for ours, theirs in _ATOM.items()}.get(parts[4])
        return f"{called}/{phase.name}/{label}" if called else _degree_of_freedom(phase.name, label, parts)
    rest = ".".join(parts[2:])
    return next((f"{ours}/{phase.name}" for ours, theirs in _PHASE.items() if theirs == rest), None)


def _degree_of_freedom(phase: str, label: str, parts: list[str]) -> str | None:
    """Sites move along directions that their symmetry leaves free; correlations are between these."""
    return f"position/{phase}/{label}/{parts[5]}" if parts[4] == "dof" else None


def ours(path: str, value: float) -> float:
    """Return a value in our units: U where rietx has B = 8 pi^2 U."""
    return value / U_TO_B if path.endswith(".biso") else value


def values(refinement: Any) -> dict[str, float]:
    """Return every parameter by our name."""
    found = {}
    for row in refinement.parameters():
        called = name(row.path, refinement.structure)
        if called is not None and ".dof." not in row.path:
            found[called] = ours(row.path, row.value)
    return found


def paths(refinement: Any, wanted: dict[str, float]) -> dict[str, float]:
    """Return the paths of rietx and values for our names.

    RequestError for a name that is not there or follows another by symmetry.
    """
    rows = {name(row.path, refinement.structure): row for row in refinement.parameters() if ".dof." not in row.path}
    found = {}
    for called, value in wanted.items():
        row = rows.get(called)
        if row is None:
            raise RequestError(f'there is no parameter "{called}"; see the values of the state')
        path = row.path
        if row.tie is not None:
            if len(row.tie.terms) != 1 or ".dof." not in row.tie.terms[0][0]:
                raise RequestError(f'"{called}" follows another parameter by symmetry; set that one')
            raise RequestError(f'"{called}": rietx sets coordinates through the CIF alone; start anew with another one')
        if row.locked:
            raise RequestError(f'"{called}" is fixed by symmetry and cannot be set')
        found[path] = value * U_TO_B if path.endswith(".biso") else value
    return found


def tie(refinement: Any, equal: list[list[str]], sums: list[dict[str, Any]]) -> None:
    """Hold parameters equal, or at a fixed sum. RequestError for what is not there or cannot be tied."""
    refinement.tie_equal([HEIGHT], source=_INSTRUMENT["axial"])
    for names in equal:
        if names[0].startswith("position/"):
            for along in zip(*(_directions(refinement, called) for called in names), strict=True):
                refinement.tie_equal(list(along))
        else:
            refinement.tie_equal(list(paths(refinement, dict.fromkeys(names, 0.0))), source=_path(refinement, names[0]))
    for one in sums:
        *others, last = (_path(refinement, called) for called in one["names"])
        refinement.tie(last, [(path, -1.0) for path in others], offset=one["total"])


def _path(refinement: Any, called: str) -> str:
    return next(iter(paths(refinement, {called: 0.0})))


def _directions(refinement: Any, called: str) -> list[str]:
    """Paths along which an atom may move; as many for each atom of a tie."""
    found = [row.path for row in refinement.parameters() if ".dof." in row.path]
    found = [path for path in found if (name(path, refinement.structure) or "").startswith(f"{called}/")]
    if not found:
        raise RequestError(f'"{called}" cannot be tied: there is no such atom, or it is fixed by symmetry')
    return found


def globs(refinement: Any, free: list[dict[str, Any]]) -> list[str]:
    """Return what a stage of rietx turns on. RequestError for a phase or an atom that is not there."""
    phases = {phase.name: (number, phase) for number, phase in enumerate(refinement.structure.phases)}
    found: list[str] = []
    for one in free:
        group = one["group"]
        if group in _GLOBS:
            found.append(_GLOBS[group])
            continue
        if one["phase"] is not None and one["phase"] not in phases:
            raise RequestError(f'there is no phase "{one["phase"]}" to free {group} of; it has {", ".join(phases)}')
        chosen = [phases[one["phase"]]] if one["phase"] is not None else list(phases.values())
        found += [glob for number, phase in chosen for glob in _phase_globs(group, number, phase, one["atom"])]
    return found


def _phase_globs(group: str, number: int, phase: Any, atom: str | None) -> list[str]:
    if group in _PHASE_GLOBS:
        if group == "preferred_orientation" and phase.preferred_orientation is None:
            raise RequestError(
                f"phase {phase.name} has no march_axis, so preferred orientation cannot be freed; give one"
            )
        return [f"phases.{number}.{_PHASE_GLOBS[group]}"]
    labels = [one.label for one in phase.atoms]
    if atom is not None and atom not in labels:
        raise RequestError(f'phase {phase.name} has no atom "{atom}"; it has {", ".join(labels)}')
    which = "*" if atom is None else str(labels.index(atom))
    return [f"phases.{number}.atoms.{which}.{_ATOM_GLOBS[group]}"]
