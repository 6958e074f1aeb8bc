"""Check sets of runs before they are compared: executed as claimed, from the same start, with the same seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from sophron.interfaces.kind import EngineFailure, UpstreamStep
from sophron.records import documents
from sophron.records.digests import step_name
from sophron.records.typed_json import from_json
from sophron.science.chain_conformation.execution_backends import WAYS, Ran, Way

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Series = NDArray[np.float64]

SHARED = ("seed", "start_sha256", "temperature_target", "samples")
"""What runs of the same replica have in common, whatever the way."""


@dataclass(frozen=True)
class Sampled:
    """Of the result of a run (`chain_conformation/sample.schema.yaml`), what sets are compared by."""

    seed: int
    start_sha256: str
    temperature_target: float
    samples: int
    effective_samples: float


@dataclass(frozen=True)
class Run:
    """One finished run: its step, its typed result, its `ran.json`, its series of squared radii."""

    name: str
    result: Sampled
    ran: Ran
    squared: Series


@dataclass(frozen=True)
class RunSet:
    """All runs of one way, in order of replicas."""

    way: Way
    runs: Sequence[Run]

    @classmethod
    def of(cls, stage: str, steps: Sequence[UpstreamStep]) -> Self:
        """From the finished steps of a stage."""
        import numpy as np

        runs = []
        for step in steps:
            with np.load(step.files["series"]) as arrays:
                squared = arrays["squared_radius"]
            ran = from_json(Ran, documents.load_json(step.files["ran"]))
            runs.append(Run(step_name(stage, step.wildcards), from_json(Sampled, step.result), ran, squared))
        return cls(WAYS[stage], runs)

    def same_series(self, other: RunSet) -> bool:
        """Return whether all series are equal to the last bit: one sample, then, and not two."""
        import numpy as np

        return all(np.array_equal(a.squared, b.squared) for a, b in zip(self.runs, other.runs, strict=True))


def check(sets: Sequence[RunSet]) -> None:
    """Raise EngineFailure if a run was not executed as its stage claims, or if runs had another start or seed."""
    for one in sets:
        for run in one.runs:
            _check_record(one.way, run)
    for runs in zip(*(one.runs for one in sets), strict=True):
        for name in SHARED:
            values = [getattr(run.result, name) for run in runs]
            odd = next((number for number, value in enumerate(values) if value != values[0]), None)
            if odd:
                raise EngineFailure(
                    f"{runs[odd].name} and {runs[0].name} differ in {name} ({values[odd]}, {values[0]}); "
                    "only runs from one start with one seed are compared"
                )


def _check_record(way: Way, run: Run) -> None:
    contradiction = way.unlike(run.ran)
    if run.ran.step != run.name:
        contradiction = f"its record is that of {run.ran.step}"
    if contradiction:
        raise EngineFailure(
            f"{run.name} claims to run {way.claim}, but {contradiction}; remove its folders below results and scratch "
            f"and run it again: {way.command}"
        )
