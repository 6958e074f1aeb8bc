"""The SAMPL benchmarks as systems of a campaign: tasks without measured values, and these for the benchmark alone."""

from __future__ import annotations

import csv
import math
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json
from sophron.science import local_data
from sophron.science.estimators.restraints import rt
from sophron.science.host_guest.systems import data, tasks
from sophron.science.host_guest.systems.data import Benchmark
from sophron.science.host_guest.systems.systems import Settings, Task
from sophron.science.host_guest.task_metadata import Solvent

KJ_PER_KCAL = 4.184
CLIP_TABLE = "CBClip.txt"


class Sampl:
    """Settings: `benchmark` (sampl4-cb7, sampl4-oah, sampl5-cbclip), `solvent`, and `data`, a folder with the files.

    Without `data`, what the campaign's folder `data` holds is taken from there; else files are fetched from their
    public repositories. Either way they are checked.
    """

    form = "molecules"

    def guests(self, settings: Settings) -> Sequence[str]:
        """Return the codes in the order of the benchmark, in lower case."""
        return [code.lower() for code in _benchmark(settings).guests]

    def names(self, settings: Settings) -> Sequence[str]:
        """Return the codes of guests and host."""
        return [*self.guests(settings), _benchmark(settings).host.lower()]

    def task(self, settings: Settings, guest: str, folder: Path) -> Task:
        """Return the task of one guest, its files below `folder`."""
        found = _benchmark(settings)
        source = _given(found, settings, folder)
        if source is None:
            source = folder / "fetched"
            data.fetch(found, source)
        data.check(found, source)
        target = folder / guest
        target.mkdir(parents=True, exist_ok=True)
        remarks = tasks.write(
            found, self.guests(settings).index(guest), source, target, SamplSettings.read(settings).solvent
        )
        metadata = documents.load_json(target / "task_metadata.json")
        return Task(metadata, {name: target / name for name in tasks.MOLECULES}, remarks)

    def pinned(self, settings: Settings, guests: Sequence[str], folder: Path) -> Settings:
        """Return the settings: `sources.yaml` pins the files."""
        del guests, folder
        return settings

    def references(self, settings: Settings, folder: Path) -> Mapping[str, float]:
        """Return guest -> measured standard binding free energy in kcal/mol."""
        found = _benchmark(settings)
        source = _given(found, settings, folder)
        if source is not None:
            return _measured(found, source / found.folder)
        with tempfile.TemporaryDirectory() as fetched:
            return _measured(found, data.fetch_references(found, Path(fetched)))


SAMPL = Sampl()


@dataclass(frozen=True)
class SamplSettings:
    """Settings of a SAMPL benchmark. data: a folder with its files; None: the campaign's, or the public repository."""

    benchmark: str
    solvent: Solvent
    data: str | None = None

    @classmethod
    def read(cls, settings: Settings) -> Self:
        """From a spec; UserError that names a missing key."""
        for key in ("benchmark", "solvent"):
            if key not in settings:
                raise UserError(f'the settings of a SAMPL benchmark lack "{key}"; add it')
        return from_json(cls, settings)


def _benchmark(settings: Settings) -> Benchmark:
    return data.benchmark(SamplSettings.read(settings).benchmark)


def _given(found: Benchmark, settings: Settings, workdir: Path) -> Path | None:
    """The folder that settings name, or the campaign's folder `data` if it holds this benchmark."""
    named = SamplSettings.read(settings).data
    own = local_data.folder(workdir) if named is None else Path(named)
    return own if named is not None or (own / found.folder).is_dir() else None


def _measured(found: Benchmark, folder: Path) -> dict[str, float]:
    if found.layout == "taproom":
        return {code.lower(): _of_measurement(folder / code / "measurement.yaml") for code in found.guests}
    constants = _constants(folder, len(found.guests))
    unit = rt(found.temperature_k)
    return {code.lower(): -unit * math.log(each) for code, each in zip(found.guests, constants, strict=True)}


def _of_measurement(path: Path) -> float:
    """Taproom gives kJ/mol."""
    try:
        value = re.search(r"delta_G:\s*(-?[0-9.]+)\s*kJ/mol", path.read_text())
    except FileNotFoundError:
        raise UserError(f"{path} is not there; put the measured values there.") from None
    if value is None:
        raise UserError(f"{path} has no delta_G in kJ/mol; take the file of the benchmark.")
    return float(value[1]) / KJ_PER_KCAL


def _constants(folder: Path, guests: int) -> list[float]:
    """Association constants in l/mol: the mean of both titrations of each guest (Yin et al. 2017)."""
    table, derived = folder / CLIP_TABLE, folder / "guests.csv"
    if table.is_file():
        rows = [line.split() for line in table.read_text().splitlines() if line.strip()]
        found = [0.5 * (float(row[0]) + float(row[1])) for row in rows]
    elif derived.is_file():
        unit = rt(298.15)
        with derived.open(newline="") as lines:
            found = [math.exp(-float(row["dG_exp_kcal_mol"]) / unit) for row in csv.DictReader(lines)]
    else:
        raise UserError(f"{table} is not there; put the measured values there.")
    if len(found) != guests:
        raise UserError(f"{folder} holds {len(found)} measured values for {guests} guests; take the pinned file.")
    return found
