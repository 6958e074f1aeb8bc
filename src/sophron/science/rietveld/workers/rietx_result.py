"""Read a fit from rietx, as plain data."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from sophron.science.rietveld.workers import rietx_names
from sophron.science.rietveld.workers.worker_loop import finite, first_sentence

ANGSTROM_IN_NM = 0.1
U_TO_B = rietx_names.U_TO_B


def ending(result: Any) -> tuple[str, str]:
    """Return how a cycle ended, and why if it did not end well."""
    statistics = result.statistics
    if not all(math.isfinite(one) for one in (statistics.rwp, statistics.chi2, *result.y_calc)):
        return "diverged", "the calculated pattern is not finite"
    if result.status == "diverged":
        return "diverged", "the least squares ran away"
    wrong = next((one for one in result.diagnostics if one.level == "error"), None)
    if wrong is not None:
        return "diverged", f"the engine calls the fit unusable ({wrong.code}: {first_sentence(wrong.message)})"
    return ("converged" if result.status == "converged" else "unfinished"), ""


def fit(result: Any, refinement: Any) -> dict[str, Any]:
    """Return the fit of the interface, without its name."""
    statistics = result.statistics
    variables = statistics.n_free_parameters
    said: dict[str, Any] = finite(
        {
            "rwp_percent": 100 * statistics.rwp,
            "rp_percent": 100 * statistics.rp,
            "r_expected_percent": 100 * statistics.rexp,
            "chi2": statistics.chi2 * (statistics.n_points - variables),  # theirs is reduced
            "gof": statistics.gof,
            "observations": statistics.n_points,
            "variables": variables,
            "largest_shift_over_esd": statistics.max_shift_over_esd,
            "parameters": _parameters(result, refinement.structure),
            "correlations": _correlations(result, refinement.structure),
            "phases": _phases(result),
            "flags": _flags(result.diagnostics),
            "curves": {
                "two_theta_deg": result.two_theta,
                "observed": result.y_obs,
                "calculated": result.y_calc,
                "background": result.y_background,
                "sigma": result.sigma,
                "ticks_deg": result.ticks,
            },
        }
    )
    return said


def _parameters(result: Any, structure: Any) -> list[dict[str, Any]]:
    """Return the refined ones. What rietx calls uncorrected still has the misfit in it: it is multiplied by the GOF."""
    gof = result.statistics.gof
    found = []
    for one in result.parameters:
        called = rietx_names.name(one.path, structure)
        if called is None or ".dof." in one.path:
            continue
        unit = 1 / U_TO_B if one.path.endswith(".biso") else 1.0
        esd, misfit = (None if e is None else e * unit for e in (one.stderr, one.stderr_uncorrected))
        counting = misfit / gof if misfit is not None and gof > 0 else None
        found.append({"name": called, "value": one.value * unit, "esd": esd, "esd_counting": counting})
    return found


def _correlations(result: Any, structure: Any) -> list[dict[str, Any]]:
    pairs = result.identifiability.top_correlations if result.identifiability is not None else []
    return [
        {
            "first": rietx_names.name(pair.path_a, structure) or pair.path_a,
            "second": rietx_names.name(pair.path_b, structure) or pair.path_b,
            "value": pair.rho,
        }
        for pair in pairs
    ]


def _phases(result: Any) -> list[dict[str, Any]]:
    shares = {one.name: one for one in result.qpa.phases} if result.qpa is not None else {}
    broad = {one.phase_name: one for one in result.microstructure or []}
    return [
        {
            "name": one.name,
            "r_f_percent": None if one.r_f is None else 100 * one.r_f,
            "r_bragg_percent": None if one.r_bragg is None else 100 * one.r_bragg,
            "reflections": one.n_reflections,
            "weight_fraction": shares[one.name].weight_fraction if one.name in shares else None,
            "weight_fraction_esd": shares[one.name].weight_fraction_stderr if one.name in shares else None,
            **_broadening(broad.get(one.name)),
        }
        for one in result.phase_agreement
    ]


def _broadening(found: Any) -> dict[str, float | None]:
    terms = {one.path.rpartition(".")[2]: one for one in found.terms} if found is not None else {}
    size, strain = terms.get("lor_size"), terms.get("lor_strain")
    return {
        "size_nm": None if size is None or size.value is None else size.value * ANGSTROM_IN_NM,
        "size_nm_esd": None if size is None or size.esd is None else size.esd * ANGSTROM_IN_NM,
        "microstrain": None if strain is None else strain.value,
        "microstrain_esd": None if strain is None else strain.esd,
    }


def _flags(diagnostics: list[Any]) -> list[dict[str, Any]]:
    """By code: one finding may come a hundred times."""
    counts = Counter(one.code for one in diagnostics)
    first = {one.code: one for one in reversed(diagnostics)}
    return [
        {"code": code, "level": first[code].level, "count": count, "message": first_sentence(first[code].message)}
        for code, count in counts.items()
    ]
