"""Rietveld refinement with rietx, in its own process: `python -m sophron.science.rietveld.workers.rietx_ops`."""

from __future__ import annotations

import json
import math
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import rietx as rx
from pydantic import ValidationError
from rietx.model.forward import WINDOW_AREA_TOL
from rietx.schemas.instrument import (
    BackgroundChebyshev,
    EmissionLine,
    Geometry,
    Instrument,
    NeutronSource,
    ProfileTCHZ,
    Source,
)
from rietx.schemas.structure import PreferredOrientation

from sophron.science.rietveld.workers import rietx_cache, rietx_names, rietx_result
from sophron.science.rietveld.workers.worker_loop import RequestError, first_sentence, serve

U_TO_B = 8 * math.pi**2
GEOMETRIES = {"transmission": "flat_plate_transmission"}
ABSORPTION = {"debye_scherrer": "mu_r"}


def start(setup: dict[str, Any], pattern: dict[str, Any]) -> dict[str, Any]:
    """Return the state before any cycle, as plain data."""
    phases = [_phase(one) for one in setup["phases"]]
    instrument = _instrument(setup["instrument"])
    instrument.background = _background(setup["background"])
    low, high = setup["limits_deg"]
    structure = rx.Structure(phases=phases)
    _first_scales(structure, instrument, pattern, low, high)
    x = [value for value in pattern["two_theta_deg"] if low <= value <= high]
    kept = {"excluded_deg": setup["excluded_deg"], "range_deg": [x[0], x[-1]]}
    return _state(rx.Refinement(structure, instrument, history=False), kept)


def _phase(phase: dict[str, Any]) -> Any:
    """A phase from the text of a CIF."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "phase.cif"
        path.write_text(phase["cif"], encoding="utf-8")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read = rx.Structure.from_cif(path).phases
        except Exception as error:  # noqa: BLE001 - whatever it trips over is the CIF's fault
            said = first_sentence(str(error).replace(str(path), "it"), 160)
            raise RequestError(f"phase {phase['name']}: the CIF cannot be read ({said}); give one whole CIF") from None
    if len(read) != 1:
        raise RequestError(f"phase {phase['name']}: its CIF describes {len(read)} structures; give one")
    found = read[0]
    labels = [atom.label for atom in found.atoms]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise RequestError(
            f'phase {phase["name"]}: two sites of the CIF are labelled "{twice}"; give each its own label'
        )
    found.name = phase["name"]
    if phase["march_axis"] is not None:
        found.preferred_orientation = PreferredOrientation(axis=tuple(phase["march_axis"]))
    return found


def _instrument(given: dict[str, Any]) -> Any:
    kind = given["geometry"]
    profile = ProfileTCHZ()
    for letter in "uvwxy":
        getattr(profile, letter).value = given[f"profile_{letter}"]
    geometry: dict[str, Any] = {"kind": GEOMETRIES.get(kind, kind), "goniometer_radius_mm": given["radius_mm"]}
    if given["absorption"] is not None:
        geometry[ABSORPTION.get(kind, "mu_t")] = given["absorption"]
    try:
        instrument = Instrument(source=_source(given), geometry=Geometry(**geometry), profile=profile)
    except ValidationError as error:
        said = "; ".join(first_sentence(one["msg"].removeprefix("Value error, "), 160) for one in error.errors())
        raise RequestError(f"instrument: {said}; correct it") from None
    instrument.zero_shift.value = given["zero_deg"]
    instrument.geometry.sample_displacement.value = given["displacement_mm"]
    instrument.geometry.axial_sl.value = instrument.geometry.axial_hl.value = given["axial"]
    return instrument


def _source(given: dict[str, Any]) -> Any:
    if given["radiation"] == "neutron":
        return NeutronSource(wavelength=given["wavelengths_angstrom"][0])
    source = Source(lines=[EmissionLine(wavelength=value) for value in given["wavelengths_angstrom"]])
    if len(source.lines) == 2:
        source.lines[1].weight.value = given["ratio"]
    source.polarization.value = given["polarization"]
    return source


def _background(given: dict[str, Any], before: Any = None) -> Any:
    values = [given["start"]] + [0.0] * (given["count"] - 1)
    if before is not None:
        kept = [one.value for one in before.coefficients][: given["count"]]
        values = kept + [0.0] * (given["count"] - len(kept))
    return BackgroundChebyshev(coefficients=[rx.Parameter(value=value) for value in values])


def _first_scales(structure: Any, instrument: Any, pattern: dict[str, Any], low: float, high: float) -> None:
    """Scales of the order that the pattern asks for: from far away a first cycle may not find them."""
    x, y = (np.asarray(pattern[key]) for key in ("two_theta_deg", "intensity"))
    inside = (x >= low) & (x <= high)
    above = max(float(np.sum(y[inside] - np.percentile(y[inside], 10))), 1.0)
    bare = instrument.model_copy(deep=True)
    bare.background = _background({"start": 0.0, "count": 1})
    for phase in structure.phases:
        alone = rx.Structure(phases=[phase])
        given = float(np.sum(rx.Refinement(alone, bare, history=False).predict(x[inside])))
        if given > 0 and math.isfinite(given):
            phase.scale.value *= above / given / len(structure.phases)


def _state(refinement: Any, kept: dict[str, Any]) -> dict[str, Any]:
    document = {
        "structure": json.loads(refinement.structure.model_dump_json()),
        "instrument": json.loads(refinement.instrument.model_dump_json()),
        "excluded_deg": kept["excluded_deg"],
        "range_deg": kept["range_deg"],
    }
    return {"version": rx.__version__, "document": document, "values": rietx_names.values(refinement)}


def _restored(document: dict[str, Any]) -> Any:
    structure = rx.Structure.model_validate(document["structure"])
    instrument = Instrument.model_validate(document["instrument"])
    refinement = rx.Refinement(structure, instrument, history=False)
    refinement.set_vary("*", vary=False)
    return refinement


def refine(pattern: dict[str, Any], state: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """Return one cycle; `ended`, the state after it, the fit."""
    document = state["document"]
    refinement = _restored(document)
    if request["background"] is not None:
        instrument = refinement.instrument
        instrument.background = _background(request["background"], instrument.background)
        document = {**document, "instrument": json.loads(instrument.model_dump_json())}
        refinement = _restored(document)
    if request["values"]:
        refinement.set_values(rietx_names.paths(refinement, request["values"]))
    freed = rietx_names.globs(refinement, request["free"])
    rietx_names.tie(refinement, request["equal"], request["sums"])
    data = rx.PatternData(**{_FIELDS[key]: value for key, value in pattern.items()})
    data.excluded_regions = [tuple(pair) for pair in document["excluded_deg"]]
    stage = rx.Stage("cycle", freed, max_iter=request["cycles"])
    result = refinement.run_stage(
        data,
        stage,
        two_theta_limits=tuple(state["limits_deg"]),
        window_area_tol=WINDOW_AREA_TOL,
        telemetry=False,
    )
    ended, reason = rietx_result.ending(result)
    return {
        "ended": ended,
        "reason": reason,
        "state": _state(refinement, document),
        "fit": rietx_result.fit(result, refinement),
    }


_FIELDS = {"two_theta_deg": "two_theta", "intensity": "intensity", "sigma": "sigma"}


def calculate(state: dict[str, Any], two_theta_deg: list[float]) -> list[float]:
    """Return the intensities of the model at these angles, within the range that it was made for."""
    low, high = state["document"]["range_deg"]
    if not all(low <= value <= high for value in two_theta_deg):
        raise RequestError(f"the model holds from {low:g} to {high:g} degrees; ask for angles between these")
    # The background's polynomials span whatever grid is asked for: both ends have to be on it.
    grid, back = np.unique([low, *two_theta_deg, high], return_inverse=True)
    found = _restored(state["document"]).predict(grid)[back]
    return [float(value) for value in found[1:-1]]


def read_pattern(path: str) -> dict[str, Any]:
    """Return a pattern file in one of the formats that rietx knows."""
    try:
        data = rx.read_pattern(path)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it trips over is the file's fault
        said = first_sentence(str(error).replace(path, Path(path).name), 200)
        raise RequestError(
            f"{path}: not a pattern that rietx reads ({said}); export it as two or three columns"
        ) from None
    if data.two_theta is None:
        raise RequestError(f"{path}: a time-of-flight pattern; give one of constant wavelength")
    return {"two_theta_deg": data.two_theta, "intensity": data.intensity, "sigma": data.sigma}


if __name__ == "__main__":
    rietx_cache.install()
    serve({"start": start, "refine": refine, "calculate": calculate, "read_pattern": read_pattern})
