"""What a session is given: a pattern, phases that are or may be there, a diffractometer; one JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from sophron.interfaces.rietveld import Instrument, Pattern, Phase, Sum
from sophron.records import documents
from sophron.records.digests import digest
from sophron.records.typed_json import from_json

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

    start: values to begin with, by name of parameter; equal, sums: of parameters, as in a Request.
    """

    engine: str
    pattern: Pattern
    phases: tuple[GivenPhase, ...]
    instrument: Instrument
    limits_deg: tuple[float, float] | None = None
    excluded_deg: tuple[tuple[float, float], ...] = ()
    start: Mapping[str, float] = field(default_factory=dict)
    equal: tuple[tuple[str, ...], ...] = ()
    sums: tuple[Sum, ...] = ()

    def equal_in(self, phases: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return the parameters held equal that these phases have."""
        return tuple(one for one in self.equal if all(_is_of(name, phases) for name in one))

    def sums_in(self, phases: Sequence[str]) -> tuple[Sum, ...]:
        """Return the fixed sums that these phases have."""
        return tuple(one for one in self.sums if all(_is_of(name, phases) for name in one.names))

    @property
    def cifs(self) -> dict[str, str]:
        """The CIF that each phase is given as, by name."""
        return {one.phase.name: one.phase.cif for one in self.phases}

    @property
    def counts(self) -> float:
        """Information in the pattern as a number of counts: sum of (intensity / sigma)^2, for raw counts their sum."""
        y, sigma = self.pattern.intensity, self.pattern.sigma
        return float(np.sum(y)) if sigma is None else float(np.sum((y / sigma) ** 2))

    @property
    def digest(self) -> str:
        """Digest of all of it."""
        return digest(data(self))


def _is_of(name: str, phases: Sequence[str]) -> bool:
    _, _, rest = name.partition("/")
    return not rest or rest.partition("/")[0] in phases


def data(sample: Sample) -> dict[str, object]:
    """Return a sample as plain data that fits `sample` of `schemas/rietveld/data.schema.yaml`."""
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
        **({"equal": [list(one) for one in sample.equal]} if sample.equal else {}),
        **({"sums": [{"names": list(one.names), "total": one.total} for one in sample.sums]} if sample.sums else {}),
    }


@dataclass(frozen=True)
class _Points:
    """A pattern as lists."""

    name: str
    two_theta_deg: tuple[float, ...]
    intensity: tuple[float, ...]
    sigma: tuple[float, ...] | None


@dataclass(frozen=True)
class _Phase(Phase):
    """A phase with its role."""

    role: Role = "main"


@dataclass(frozen=True)
class _Document:
    """A sample in the form of its schema."""

    engine: str
    pattern: _Points
    phases: tuple[_Phase, ...]
    instrument: Instrument
    limits_deg: tuple[float, float] | None
    excluded_deg: tuple[tuple[float, float], ...]
    start: Mapping[str, float]
    equal: tuple[tuple[str, ...], ...] = ()
    sums: tuple[Sum, ...] = ()


def of_data(data: object) -> Sample:
    """Return the sample that valid plain data stands for."""
    given = from_json(_Document, data)
    points = given.pattern
    x, y = (np.array(one, dtype=float) for one in (points.two_theta_deg, points.intensity))
    sigma = None if points.sigma is None else np.array(points.sigma, dtype=float)
    return Sample(
        given.engine,
        Pattern(points.name, x, y, sigma),
        tuple(GivenPhase(Phase(one.name, one.cif, one.march_axis), one.role) for one in given.phases),
        given.instrument,
        given.limits_deg,
        given.excluded_deg,
        given.start,
        given.equal,
        given.sums,
    )


def load(path: Path) -> Sample:
    """Return the sample in a file; UserError if it is not one."""
    document = documents.Document(documents.load_json(path), path)
    documents.validate(document, *SCHEMA)
    return of_data(document.data)
