"""The execution backends under comparison, and a check that each run really used its backend.

Imports nothing heavy: the kind reads it at every start-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a process runs, as `records.process_identity.placement` tells; None if there is no such thing."""

    scheduler: str | None
    pilot: str | None
    job: str | None = None
    host: str | None = None
    dispatcher: str | None = None


@dataclass(frozen=True)
class Ran:
    """Where and how a run was executed: content of `ran.json`, its try apart.

    ranks, suffixes (accelerators whose styles were used), engine_s: as LAMMPS says; started, ended: clock of the host.
    """

    step: str
    placement: Place
    ranks: int
    suffixes: tuple[str, ...]
    lammps: str
    engine_s: float
    started: str
    ended: str
    wall_s: float


@dataclass(frozen=True)
class Way:
    """One way to execute. A stage stands for it, so that `snakemake --profile P --until STAGE` is all there is to know.

    scheduler, pilot, dispatcher: what its steps run under; None for none. A pilot, or a task of a dispatcher, may stand
    inside any scheduler's job or none.
    least_ranks: fewer MPI ranks are another way. suffix: accelerator whose styles LAMMPS must have used.
    """

    stage: str
    profile: str
    scheduler: str | None = None
    pilot: str | None = None
    least_ranks: int = 1
    suffix: str | None = None
    dispatcher: str | None = None

    @property
    def command(self) -> str:
        """What a person types to run it."""
        return f"snakemake --profile {self.profile} --until {self.stage}"

    def misplaced(self, place: Place) -> str | None:
        """Return where a process is instead, in words; None if it is in the right place."""
        anywhere = self.pilot or self.dispatcher
        fits = (place.pilot, place.dispatcher) == (self.pilot, self.dispatcher)
        fits = fits and (anywhere is not None or place.scheduler == self.scheduler)
        return None if fits else located(place)

    def unlike(self, ran: Ran) -> str | None:
        """Return how a finished run contradicts the claim, in words; None if it does not."""
        elsewhere = self.misplaced(ran.placement)
        if elsewhere:
            return f"it ran {elsewhere}"
        if ran.ranks < self.least_ranks:
            return f"LAMMPS ran on {ran.ranks} of at least {self.least_ranks} ranks"
        if self.suffix and self.suffix not in ran.suffixes:
            return f"LAMMPS used no style of its {self.suffix} package"
        return None

    @property
    def claim(self) -> str:
        """The claim in words."""
        return located(Place(self.scheduler, self.pilot, dispatcher=self.dispatcher))


def located(place: Place) -> str:
    """Name a place: `in a parsl pilot`, `in a job of slurm (17) on node3`, `outside of any queue on laptop`."""
    if place.pilot:
        where = f"in a {place.pilot} pilot"
    elif place.dispatcher:
        where = f"in a task of {place.dispatcher}"
    elif place.scheduler:
        where = f"in a job of {place.scheduler}" + (f" ({place.job})" if place.job else "")
    else:
        where = "outside of any queue"
    return f"{where} on {place.host}" if place.host else where


WAYS: Mapping[str, Way] = {
    way.stage: way
    for way in (
        Way("sample_local", "local"),
        Way("sample_slurm", "slurm", scheduler="slurm", least_ranks=2),
        Way("sample_slurm_gpu", "slurm", scheduler="slurm", suffix="gpu"),
        Way("sample_parsl", "parsl", pilot="parsl"),
        Way("sample_dpdispatcher", "dpdispatcher", dispatcher="dpdispatcher"),
    )
}
"""Stage -> its way, in the order of results."""
