"""A simulated scan as a refinement is given it: plain data in the form of a sample, and nothing of the truth."""

from __future__ import annotations

from dataclasses import asdict

from sophron.interfaces.rietveld import Pattern
from sophron.science.rietveld.simulated import series as known
from sophron.science.rietveld.simulated.series import Series


def data(of: Series, pattern: Pattern, engine: str) -> dict[str, object]:
    """Pattern, the main phase and the candidate as CIF, and the instrument as calibrated."""
    roles = ((of.main, "main"), (of.candidate, "candidate"))
    phases = [(known.phase(structure), role) for structure, role in roles]
    instrument = asdict(known.instrument(true=False))
    return {
        "engine": engine,
        "pattern": {
            "name": pattern.name,
            "two_theta_deg": pattern.two_theta_deg.tolist(),
            "intensity": pattern.intensity.tolist(),
            "sigma": None,
        },
        "phases": [{"name": one.name, "role": role, "cif": one.cif, "march_axis": None} for one, role in phases],
        "instrument": {**instrument, "wavelengths_angstrom": list(instrument["wavelengths_angstrom"])},
        "limits_deg": None,
        "excluded_deg": [],
    }
