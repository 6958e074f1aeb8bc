"""Host-guest systems as a campaign names them: what a pipeline is told of each guest, and the reference values.

Systems are found in the registry `sophron.host_guest_systems` by the name that the spec gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Protocol, Self

from sophron.records import entry_points
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json
from sophron.science.host_guest.protocols.lj_dimer import WALL, LennardJones
from sophron.science.host_guest.systems import exact_reference

GROUP = "sophron.host_guest_systems"
PH = 7.0
Settings = Mapping[str, object]
"""`settings` of a spec: opaque but for the system that they are of, which reads them into a type of its own."""


@dataclass(frozen=True)
class Task:
    """metadata: as `schemas/debate/task_metadata.schema.yaml` has it; files: canonical name -> file.

    remarks: what the data contradict and what was done about it, for people; no pipeline and no agent is told.
    """

    metadata: Mapping[str, object]
    files: Mapping[str, Path] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


class System(Protocol):
    """A family of guests of one host. settings: the `settings` of the spec, whose form is the system's own."""

    form: str
    """`particles` or `molecules`: which reference pipeline fits."""

    def guests(self, settings: Settings) -> Sequence[str]:
        """Return the names of all guests, in the order of the benchmark; UserError if the settings do not fit."""
        ...

    def names(self, settings: Settings) -> Sequence[str]:
        """Return the names of host and guests that no pipeline may depend on."""
        ...

    def task(self, settings: Settings, guest: str, folder: Path) -> Task:
        """Return the task of one guest; what files it needs are made in `folder`."""
        ...

    def references(self, settings: Settings, folder: Path) -> Mapping[str, float]:
        """Return guest -> standard binding free energy in kcal/mol: measured, or exact.

        `folder` is there to work in.
        """
        ...

    def pinned(self, settings: Settings, guests: Sequence[str], folder: Path) -> Settings:
        """Return the settings as a spec should sign them for `guests`: with digests of files of the user's own.

        folder: where relative paths begin. UserError if a file is missing.
        """
        ...


def find(name: str) -> System:
    """Return the system called `name`; UserError that lists the known ones."""
    found: System = entry_points.load(GROUP, name)
    return found


@dataclass(frozen=True)
class DimerSettings:
    """Settings of the dimers. epsilon_kcal_per_mol: guest -> depth of its well."""

    epsilon_kcal_per_mol: Mapping[str, float]
    sigma_a: float
    temperature_k: float

    @classmethod
    def read(cls, settings: Settings) -> Self:
        """From a spec; UserError that names a missing key."""
        for each in fields(cls):
            if each.name not in settings:
                raise UserError(f'the settings of the dimers lack "{each.name}"; add it')
        return from_json(cls, settings)


class Dimers:
    """Lennard-Jones guests of one Lennard-Jones host; their references are sums, not measurements."""

    form = "particles"

    def guests(self, settings: Settings) -> Sequence[str]:
        """Return the names in the order of the settings."""
        return list(DimerSettings.read(settings).epsilon_kcal_per_mol)

    def names(self, settings: Settings) -> Sequence[str]:
        """Return those of the guests."""
        return self.guests(settings)

    def task(self, settings: Settings, guest: str, folder: Path) -> Task:
        """Return the task of one guest, which has no files."""
        del folder
        given = DimerSettings.read(settings)
        return Task(
            {
                "task": f"dimer {self.guests(settings).index(guest)}",
                "temperature_k": given.temperature_k,
                "host_charge_e": 0,
                "guest_charge_e": 0,
                "symmetry": {"equivalent_sites": 1, "locked_by_restraint": False},
                "ph": PH,
                "solvent": "none",
                "interaction": {
                    "epsilon_kcal_per_mol": given.epsilon_kcal_per_mol[guest],
                    "sigma_a": given.sigma_a,
                    "bound_within_a": WALL.start,
                },
            }
        )

    def pinned(self, settings: Settings, guests: Sequence[str], folder: Path) -> Settings:
        """Return the settings: two particles have no files."""
        del guests, folder
        return settings

    def references(self, settings: Settings, folder: Path) -> Mapping[str, float]:
        """Return each by one integral, with the wall that bounds the bound state."""
        del folder
        given = DimerSettings.read(settings)
        return {
            guest: exact_reference.binding(LennardJones(epsilon, given.sigma_a), WALL, given.temperature_k)
            for guest, epsilon in given.epsilon_kcal_per_mol.items()
        }


DIMERS = Dimers()
