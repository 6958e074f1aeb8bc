"""Rietveld refinement with GSAS-II, in a Python that has it: `python -m sophron.science.rietveld.workers.gsas2_ops`."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from GSASII import GSASIIpath
from GSASII import GSASIIscriptable as G2sc
from GSASII import GSASIIstrMain as G2main

from sophron.science.rietveld.workers import gsas2_derivatives, gsas2_flags, gsas2_result
from sophron.science.rietveld.workers.gsas2_model import Model
from sophron.science.rietveld.workers.worker_loop import RequestError, apart, first_sentence, serve

UNREAD = ("GSAS-II gpx", "MAXIV NeXus", "MIDAS zarr")
"""Readers that are not used: a project of theirs is a pickle, which runs what it holds; others want more packages."""

CONVERGED = 1e-4
"""Relative change of chi2 in the last iteration."""


def release() -> str:
    """Return the version of GSAS-II, as its distribution says it."""
    try:
        return version("GSAS-II")
    except PackageNotFoundError:
        return str(GSASIIpath.GetVersionNumber())


def start(setup: dict[str, Any], pattern: dict[str, Any]) -> dict[str, Any]:
    """Return the state before any cycle, as plain data."""
    document = {key: setup[key] for key in ("phases", "instrument", "background", "excluded_deg")}
    low, high = setup["limits_deg"]
    x = [value for value in pattern["two_theta_deg"] if low <= value <= high]
    document |= {"range_deg": [x[0], x[-1]], "values": {}}
    model = Model(document, setup["limits_deg"], pattern)
    _first_scales(model, pattern, low, high)
    return _state(model, document)


def _first_scales(model: Model, pattern: dict[str, Any], low: float, high: float) -> None:
    """Scales of the order that the pattern asks for: from far away a first cycle may not find them."""
    x, y = (np.asarray(pattern[key]) for key in ("two_theta_deg", "intensity"))
    inside = (x >= low) & (x <= high)
    above = max(float(np.sum(y[inside] - np.percentile(y[inside], 10))), 1.0)
    background = model.histogram.data["Background"][0]
    kept, background[3:] = background[3:], [0.0] * background[2]
    scales = [model.hap(phase)["Scale"] for phase in model.phases]
    for number, scale in enumerate(scales):
        for other, one in enumerate(scales):
            one[0] = 1.0 if other == number else 0.0
        given = float(np.sum(_calculated(model)[inside]))
        scale[1] = above / given / len(scales) if given > 0 and math.isfinite(given) else 1.0
    for scale in scales:
        scale[:] = [scale[1], False]
    background[3:] = kept


def _calculated(model: Model) -> Any:
    model.project.save()
    found = G2main.DoNoFit(model.project.filename, model.histogram.name)
    if not isinstance(found, np.ndarray):
        raise RequestError("GSAS-II calculates no pattern for this setup; check phases and instrument")
    return np.ma.getdata(found)


def _state(model: Model, document: dict[str, Any]) -> dict[str, Any]:
    return {"version": release(), "document": {**document, "values": model.values()}, "values": model.ours()}


def refine(pattern: dict[str, Any], state: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """Return one cycle; `ended`, the state after it, the fit."""
    document = state["document"]
    if request["background"] is not None:
        document = gsas2_flags.other_background(document, request["background"])
    model = Model(document, state["limits_deg"], pattern)
    model.put(request["values"])
    gsas2_flags.free(model, request["free"], request["equal"], request["sums"])
    gsas2_derivatives.complete(model)
    before = model.ours()
    model.project.set_Controls("cycles", request["cycles"])
    model.project.data["Controls"]["data"]["min dM/M"] = CONVERGED
    model.project.save()
    failed = G2main.Refine(model.project.filename, makeBack=False)
    if failed is not None:
        return {"ended": "diverged", "reason": f"GSAS-II gave up ({_said(failed[1])})"}
    model.reopen()
    if not model.project["Covariance"]["data"]:
        raise RequestError("nothing that is free can move, because symmetry fixes it; free something else")
    ended, reason = gsas2_result.ending(model, before)
    if ended == "diverged":
        return {"ended": ended, "reason": reason}
    return {"ended": ended, "reason": reason, "state": _state(model, document), "fit": gsas2_result.fit(model)}


def _said(values: dict[str, Any]) -> str:
    return first_sentence(str(values.get("msg") or "no reason given"), 200)


def calculate(state: dict[str, Any], two_theta_deg: list[float]) -> list[float]:
    """Return the intensities of the model at these angles, within the range that it was made for."""
    low, high = state["document"]["range_deg"]
    if not all(low <= value <= high for value in two_theta_deg):
        raise RequestError(f"the model holds from {low:g} to {high:g} degrees; ask for angles between these")
    # The background's functions span whatever grid is asked for: both ends have to be on it.
    grid, back = np.unique([low, *two_theta_deg, high], return_inverse=True)
    counts = np.ones_like(grid)
    document = {**state["document"], "excluded_deg": []}
    found = _calculated(Model(document, [low, high], {"two_theta_deg": grid, "intensity": counts}))[back]
    return [float(value) for value in found[1:-1]]


def read_pattern(path: str) -> dict[str, Any]:
    """Return a pattern file in one of the formats that GSAS-II knows."""
    readers = [one for one in G2sc.Readers["Pwdr"] if one.formatName not in UNREAD]
    try:
        found = G2sc.import_generic(path, readers)[0].powderdata
        x, y, weights = (np.asarray(column, dtype=float) for column in found[:3])
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it trips over is the file's fault
        said = first_sentence(str(error).replace(path, Path(path).name), 200)
        raise RequestError(
            f"{path}: not a pattern that GSAS-II reads ({said}); export it as two or three columns"
        ) from None
    return _weighted(path, x, y, weights)


def _weighted(path: str, x: Any, y: Any, weights: Any) -> dict[str, Any]:
    """Without the points that have no weight; raw counts have no deviations of their own.

    A count of 0 has no weight in their readers. Between others it is a count; at the end it fills the last line.
    """
    weighty = np.flatnonzero(weights > 0)
    if not weighty.size:
        raise RequestError(f"{path}: no point with a weight; give a measured pattern")
    inside = slice(int(weighty[0]), int(weighty[-1]) + 1)
    x, y, weights = x[inside], y[inside], weights[inside]
    kept = (weights > 0) | (y == 0)
    x, y, weights = x[kept], y[kept], np.where(weights[kept] > 0, weights[kept], 1.0)
    counts = np.allclose(1 / weights, np.maximum(y, 1.0))
    return {
        "two_theta_deg": x.tolist(),
        "intensity": y.tolist(),
        "sigma": None if counts else (1 / np.sqrt(weights)).tolist(),
    }


if __name__ == "__main__":
    G2sc.SetPrintLevel("none")
    G2sc.LoadG2fil()
    operations: tuple[Callable[..., Any], ...] = (start, refine, calculate, read_pattern)
    serve({operation.__name__: apart(operation) for operation in operations})
