"""What a session is given: a pattern, phases that are or may be there, a diffractometer; one JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sophron.interfaces.rietveld import Instrument, Pattern, Phase
from sophron.records import documents
from sophron.records.canonical_json import digest

Role = Literal["main", "candidate"]
SCHEMA = ("rietveld/data", "sample")


@dataclass(frozen=True)
class GivenPhase:
    """A phase and what is known of it. role: main (the sample is made of it) or candidate (it may be there)."""

    phase: Phase
    role: Role


@dataclass(frozen=True, eq=False)
class Sample:
    """A pattern with all that is known of it before anything is refined, and the engine. Ranges in degrees 2 theta.

    start: values to begin with, by name of parameter.
    """

    engine: str
    pattern: Pattern
    phases: tuple[GivenPhase, ...]
    instrument: Instrument
    limits_deg: tuple[float, float] | None = None
    excluded_deg: tuple[tuple[float, float], ...] = ()
    start: Mapping[str, float] = field(default_factory=dict)

    @property
    def counts(self) -> float:
        """Information in the pattern as a number of counts: sum of (intensity / sigma)^2, for raw counts their sum."""
        y, sigma = self.pattern.intensity, self.pattern.sigma
        return float(np.sum(y)) if sigma is None else float(np.sum((y / sigma) ** 2))

    @property
    def digest(self) -> str:
        """Digest of all of it."""
        return digest(data(self))


def data(sample: Sample) -> dict[str, Any]:
    """A sample as plain data that fits `sample` of `schemas/rietveld/data.schema.yaml`."""
    pattern = sample.pattern
    return {
        "engine": sample.engine,
        "pattern": {
            "name": pattern.name,
            "two_theta_deg": pattern.two_theta_deg.tolist(),
            "intensity": pattern.intensity.tolist(),
            "sigma": None if pattern.sigma is None else pattern.sigma.tolist(),
        },
        "phases": [
            {
                "name": one.phase.name,
                "role": one.role,
                "cif": one.phase.cif,
                "march_axis": None if one.phase.march_axis is None else list(one.phase.march_axis),
            }
            for one in sample.phases
        ],
        "instrument": {**asdict(sample.instrument), "wavelengths_angstrom": [*sample.instrument.wavelengths_angstrom]},
        "limits_deg": None if sample.limits_deg is None else list(sample.limits_deg),
        "excluded_deg": [list(one) for one in sample.excluded_deg],
        "start": dict(sample.start),
    }


def of_data(given: Mapping[str, Any]) -> Sample:
    """The sample that valid plain data stands for."""
    pattern = given["pattern"]
    x, y = (np.array(pattern[key], dtype=float) for key in ("two_theta_deg", "intensity"))
    sigma = None if pattern["sigma"] is None else np.array(pattern["sigma"], dtype=float)
    limits = given["limits_deg"]
    return Sample(
        given["engine"],
        Pattern(pattern["name"], x, y, sigma),
        tuple(GivenPhase(_phase(one), one["role"]) for one in given["phases"]),
        instrument(given["instrument"]),
        None if limits is None else (limits[0], limits[1]),
        tuple((low, high) for low, high in given["excluded_deg"]),
        given["start"],
    )


def _phase(given: Mapping[str, Any]) -> Phase:
    axis = given["march_axis"]
    return Phase(given["name"], given["cif"], None if axis is None else (axis[0], axis[1], axis[2]))


def instrument(given: Mapping[str, Any]) -> Instrument:
    """The diffractometer that a valid block stands for."""
    return Instrument(**{**given, "wavelengths_angstrom": tuple(given["wavelengths_angstrom"])})


def load(path: Path) -> Sample:
    """The sample in a file; UserError where it is not one."""
    document = documents.Document(documents.load_json(path), path)
    documents.validate(document, *SCHEMA)
    return of_data(document.data)
