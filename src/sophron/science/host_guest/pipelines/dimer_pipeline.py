"""Our pipeline for the Lennard-Jones dimer as four stage files: what the offline author emits and varies."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sophron.science.host_guest.pipelines import reference_pipelines

WINDOWS = 12
RATIONALE = (
    "Attach-pull-release: the guest has one way out, along the distance (10.1021/acs.jctc.5b00405). All windows are\n"
    "analysed at once by MBAR (10.1063/1.2978177) with guards that refuse; the release is an integral."
)


@dataclass(frozen=True)
class Shape:
    """What the author may choose, besides the number of windows.

    spring: of the distance, in kcal/mol/Angstrom^2, without 1/2; strengths: of the attach windows, from 0;
    pull_length: in Angstrom, from contact; interval: time steps of 10 fs between two samples.
    """

    spring: float = 1.0
    strengths: tuple[float, ...] = (0.0, 0.04, 0.2)
    pull_length: float = 10.0
    interval: int = 50


def files(shape: Shape) -> dict[str, str]:
    """Return file name -> source."""
    return reference_pipelines.files("lj_dimer", asdict(shape))


def draft() -> str:
    """Return the whole reply, with our own choices."""
    return reference_pipelines.reply(RATIONALE, files(Shape()), WINDOWS)
