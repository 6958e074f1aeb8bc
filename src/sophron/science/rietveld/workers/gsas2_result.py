"""Read a fit from GSAS-II's project, as plain data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sophron.science.rietveld.workers.gsas2_model import Model
from sophron.science.rietveld.workers.worker_loop import finite, first_sentence

SCHERRER = 0.9
MICROMETRE_IN_NM = 1000.0
FURTHEST_CELL = 0.05
"""Relative change of an edge in one cycle that no specimen explains: the model ran to other lines."""

HIGH_CORRELATION = 0.95
MOST_CORRELATIONS = 50
COARSE = "GSAS-II integrates axial divergence coarsely, which moves narrow lines by some 0.002 degrees"
_EDGES = ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
_ONE_EDGE = ("m3", "m3m", "mmm", "3", "3m1", "31m", "6/m", "6/mmm", "4/m", "4/mmm")
"""Laue classes in which an element of the reciprocal metric depends on one edge alone."""


def _covariance(model: Model) -> dict[str, Any]:
    found: dict[str, Any] = model.project["Covariance"]["data"]
    return found


def ending(model: Model, before: dict[str, float]) -> tuple[str, str]:
    """Return how a cycle ended, and why if it did not end well."""
    values = _covariance(model)["Rvals"]
    after = model.ours()
    lost = next((name for name, value in after.items() if not math.isfinite(value)), None)
    curves = _columns(model)
    if lost is not None or not all(math.isfinite(one) for one in (values["Rwp"], values["GOF"], *curves["calculated"])):
        return "diverged", f"{lost or 'the calculated pattern'} is not finite"
    for name, value in after.items():
        if name.startswith("cell/") and abs(value / before[name] - 1) > FURTHEST_CELL:
            return "diverged", f"the cell ran away: {name} went from {before[name]:.5g} to {value:.5g}"
    if values["Rwp"] >= 100:
        return "diverged", f"the model is further from the data than nothing is: Rwp is {values['Rwp']:.4g} %"
    return ("converged" if values["converged"] else "unfinished"), ""


def fit(model: Model) -> dict[str, Any]:
    """Return the fit of the interface, without its name."""
    values = _covariance(model)["Rvals"]
    curves = _columns(model)
    weights = 1 / curves["sigma"] ** 2
    scattered = float(np.sum(weights * curves["observed"] ** 2))
    observations, variables = int(values["Nobs"]), int(values["Nvars"])
    misfit = float(np.sum(np.abs(curves["observed"] - curves["calculated"])))
    said: dict[str, Any] = finite(
        {
            "rwp_percent": float(values["Rwp"]),
            "rp_percent": 100 * misfit / float(np.sum(curves["observed"])),
            "r_expected_percent": 100 * math.sqrt(max(observations - variables, 0) / scattered),
            "chi2": float(values["chisq"]),
            "gof": float(values["GOF"]),
            "observations": observations,
            "variables": variables,
            "largest_shift_over_esd": _largest_shift(_covariance(model)),
            "parameters": _parameters(model, float(values["GOF"])),
            "correlations": _correlations(model),
            "phases": _phases(model),
            "flags": _flags(model),
            "curves": {key: column.tolist() for key, column in curves.items()} | {"ticks_deg": _ticks(model)},
        }
    )
    return said


def _columns(model: Model) -> dict[str, Any]:
    """Columns of the refined range, without excluded regions."""
    x, observed, weights, calculated, background = model.histogram.data["data"][1][:5]
    limits = model.histogram.data["Limits"]
    at = np.ma.getdata(x)
    inside = (at >= limits[1][0]) & (at <= limits[1][1])
    for low, high in limits[2:]:
        inside &= (at < low) | (at > high)
    columns = {"two_theta_deg": at, "observed": observed, "calculated": calculated, "background": background}
    found = {key: np.ma.getdata(column)[inside].astype(float) for key, column in columns.items()}
    return found | {"sigma": 1 / np.sqrt(np.ma.getdata(weights)[inside])}


def _ticks(model: Model) -> dict[str, list[float]]:
    lists = model.histogram.data["Reflection Lists"]
    return {phase.name: sorted({float(one[5]) for one in lists[phase.name]["RefList"]}) for phase in model.phases}


def _largest_shift(covariance: dict[str, Any]) -> float | None:
    shifts = covariance["Rvals"].get("lastShifts", {})
    esd = dict(zip(covariance["varyList"], covariance["sig"], strict=True))
    found = [abs(float(shift) / float(esd[name])) for name, shift in shifts.items() if esd[name]]
    return max(found, default=None)


def _parameters(model: Model, gof: float) -> list[dict[str, Any]]:
    """Refined ones and what follows them. Their esd are multiplied by the GOF, counting statistics alone are not."""
    esd = {name: float(found[1]) for name, found in _covariance(model)["depSigDict"].items()}
    cells = {phase.name: _cell_esd(phase) for phase in model.phases}
    found = []
    for name, slot in model.slots.items():
        kind, _, rest = name.partition("/")
        one = esd[slot.variable] * slot.slope() if slot.variable in esd and kind != "cell" else None
        if kind == "cell" and slot.follows is None:
            phase, _, edge = rest.partition("/")
            one = cells[phase].get(edge)
        if one is not None:  # 0: the data say nothing of it
            found.append({"name": name, "value": slot.ours, "esd": one or None, "esd_counting": one / gof or None})
    return found


def _cell_esd(phase: Any) -> dict[str, float]:
    """Esd of the cell of a phase that was refined, by the names of its parameters."""
    if not phase.data["General"]["Cell"][0]:
        return {}
    esd = phase.get_cell_and_esd()[1]
    return {key.partition("_")[2]: float(esd[key]) for key in _EDGES}


def _correlations(model: Model) -> list[dict[str, Any]]:
    """The largest. Signs are of our parameters: sizes and edges fall where theirs rise."""
    covariance = _covariance(model)
    esd = np.sqrt(np.diag(covariance["covMatrix"]))
    named = [_our_name(model, variable) for variable in covariance["varyList"]]
    with np.errstate(divide="ignore", invalid="ignore"):
        table = covariance["covMatrix"] / np.outer(esd, esd)
    pairs = [(row, column) for row in range(len(esd)) for column in range(row) if math.isfinite(table[row, column])]
    pairs.sort(key=lambda at: -abs(table[at]))
    return [
        {
            "first": named[column][0],
            "second": named[row][0],
            "value": float(np.clip(table[row, column] * named[row][1] * named[column][1], -1, 1)),
        }
        for row, column in pairs[:MOST_CORRELATIONS]
    ]


def _our_name(model: Model, variable: str) -> tuple[str, int]:
    """Our name of a variable of theirs, and whether it rises (1) or falls (-1) with it."""
    for name, slot in model.slots.items():
        if slot.variable != variable:
            continue
        kind, _, rest = name.partition("/")
        if kind == "cell":
            phase = next(one for one in model.phases if one.name == rest.partition("/")[0])
            if phase.data["General"]["SGData"]["SGLaue"] not in _ONE_EDGE:
                return f"cell/{phase.name}/{variable.rpartition(':')[2]}", 1
            return name, -1
        return name, slot.power
    return variable, 1


def _phases(model: Model) -> list[dict[str, Any]]:
    residuals = model.histogram.data["data"][0]
    shares = model.histogram.ComputeMassFracs() if len(model.phases) > 1 else {}
    found = []
    for phase in model.phases:
        key = f"{phase.id}:0:"
        share, share_esd = shares.get(phase.name, (None, None)) if len(model.phases) > 1 else (1.0, None)
        found.append(
            {
                "name": phase.name,
                "r_f_percent": float(residuals[key + "Rf"]),
                "r_bragg_percent": _r_bragg(model, phase.name),
                "reflections": int(residuals[key + "Nref"]),
                "weight_fraction": share,
                "weight_fraction_esd": share_esd or None,
                **_broadening(model, phase),
            }
        )
    return found


def _r_bragg(model: Model, phase: str) -> float | None:
    """Sum of |I_obs - I_calc| over that of I_obs, by reflection (McCusker 1999, 10.1107/S0021889898009856)."""
    table = np.array(model.histogram.data["Reflection Lists"][phase]["RefList"], dtype=float)
    observed, calculated = table[:, 8] * table[:, 11], table[:, 9] * table[:, 11]
    whole = float(np.sum(observed))
    return 100 * float(np.sum(np.abs(observed - calculated))) / whole if whole > 0 else None


def _broadening(model: Model, phase: Any) -> dict[str, float | None]:
    """Size with a Scherrer constant of 0.9 and strain as delta d / d, as the other engine says them."""
    esd = {name: float(found[1]) for name, found in _covariance(model)["depSigDict"].items()}
    size, strain = model.slots[f"size/{phase.name}"], model.slots[f"strain/{phase.name}"]
    to_nm, to_ratio = SCHERRER * MICROMETRE_IN_NM, 0.5e-6
    refined = {"size": size.variable in esd, "strain": strain.variable in esd}
    return {
        "size_nm": size.theirs * to_nm if refined["size"] and size.theirs > 0 else None,
        "size_nm_esd": esd[size.variable] * to_nm if refined["size"] else None,
        "microstrain": strain.theirs * to_ratio if refined["strain"] and strain.theirs > 0 else None,
        "microstrain_esd": esd[strain.variable] * to_ratio if refined["strain"] else None,
    }


def _flags(model: Model) -> list[dict[str, Any]]:
    values = _covariance(model)["Rvals"]
    found = []
    close = [one for one in _correlations(model) if abs(one["value"]) > HIGH_CORRELATION]
    if close:
        message = f"{close[0]['first']} and {close[0]['second']}: {close[0]['value']:.3f}"
        found.append(_flag("HIGH_CORRELATION", "warning", len(close), message))
    if values.get("SVD0"):
        found.append(_flag("SINGULAR", "warning", int(values["SVD0"]), "directions that the data do not determine"))
    if values.get("Aborted"):
        found.append(_flag("STUCK", "warning", 1, "no shift lowers chi2 any more"))
    if model.document["instrument"]["axial"]:
        found.append(_flag("COARSE_ASYMMETRY", "warning", 1, COARSE))
    odd = [name for name, slot in model.slots.items() if _odd(name, slot.ours)]
    if odd:
        message = f"{odd[0]} is {model.slots[odd[0]].ours:.4g}"
        found.append(_flag("OUT_OF_RANGE", "warning", len(odd), message))
    return found


def _odd(name: str, value: float) -> bool:
    """Values that the model allows and no specimen has."""
    kind = name.partition("/")[0]
    if kind in ("u_iso", "size", "strain", "scale"):
        return value < 0
    return kind == "occupancy" and not 0 <= value <= 1


def _flag(code: str, level: str, count: int, message: str) -> dict[str, Any]:
    return {"code": code, "level": level, "count": count, "message": first_sentence(message)}
