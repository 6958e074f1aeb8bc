"""Stage data: the files of one pattern, pinned by their digests, as the one document that a refinement gets."""

from __future__ import annotations

import importlib.util
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.interfaces.rietveld import Instrument, Pattern, Phase, RietveldEngine, Sum
from sophron.records import entry_points
from sophron.records.digests import file_digest
from sophron.records.errors import UserError
from sophron.records.files import write_bytes, write_json
from sophron.records.typed_json import from_json
from sophron.science import local_data
from sophron.science.rietveld import pattern as patterns
from sophron.science.rietveld.instrument_files import read_instrument
from sophron.science.rietveld.session import sample as samples

REGISTRY = "sophron.rietveld_engines"
TIMEOUT_S = 60.0
LARGEST_BYTES = 64 * 1024**2


@dataclass(frozen=True)
class Source:
    """Where pinned files come from: a folder of an installed package, or an address that they are downloaded from."""

    package: str | None = None
    folder: str = ""
    url: str = ""


@dataclass(frozen=True)
class PinnedFile:
    """A file that a definition pins."""

    name: str
    file: str
    sha256: str


@dataclass(frozen=True)
class _InstrumentFile:
    """An instrument file that a definition pins. bank: of a file that has several."""

    file: str
    sha256: str
    bank: int


@dataclass(frozen=True)
class PinnedPhase(PinnedFile):
    """A phase of a definition, with its CIF."""

    role: samples.Role
    march_axis: tuple[int, int, int] | None


@dataclass(frozen=True)
class Tie:
    """Parameters that are not refined apart: held equal, or with a fixed sum."""

    equal: tuple[str, ...] = ()
    sum_of: tuple[str, ...] = ()
    total: float = 1.0


@dataclass(frozen=True)
class DataDefinition:
    """Definition of the stage data (`rietveld/data.schema.yaml`). Ranges in degrees 2 theta."""

    engine: str
    source: Source | None
    patterns: tuple[PinnedFile, ...]
    phases: tuple[PinnedPhase, ...]
    instrument: Mapping[str, object]
    limits_deg: tuple[float, float] | None
    excluded_deg: tuple[tuple[float, float], ...]
    ties: tuple[Tie, ...] = ()


INSTRUMENT_FILE = ("file", "sha256", "bank")
"""Keys of `instrument` that name a file; the others are of an Instrument, and hold before what is in the file."""


def run(ctx: StepContext) -> StepResult:
    """Check everything that the refinement of this pattern starts from.

    UserError if a file is not there: with the file the next call goes on. EngineFailure if the pinned one is
    unfit, which only another definition cures.
    """
    definition = from_json(DataDefinition, ctx.definition)
    about = next(one for one in definition.patterns if one.name == ctx.wildcards["pattern"])
    measured = pinned(definition.source, about, ctx.workdir)
    files = {one.name: pinned(definition.source, one, ctx.workdir) for one in definition.phases}
    instrument = _instrument(definition, ctx.workdir)
    engine: RietveldEngine = entry_points.load(REGISTRY, definition.engine)()
    try:
        sample = _sample(
            definition, replace(patterns.read(measured, engine), name=about.name), files, engine, instrument
        )
    except UserError as error:
        raise EngineFailure(str(error)) from None
    finally:
        engine.close()
    path = ctx.workdir / "sample.json"
    write_json(path, samples.data(sample))
    x = sample.pattern.two_theta_deg
    result = {
        "pattern": sample.pattern.name,
        "points": int(x.size),
        "low_deg": float(x[0]),
        "high_deg": float(x[-1]),
        "median_step_deg": float(np.median(np.diff(x))),
        "counts": sample.counts,
        "largest_intensity": float(sample.pattern.intensity.max()),
        "raw_counts": sample.pattern.sigma is None,
        "phases": sum(one.role == "main" for one in sample.phases),
        "candidates": sum(one.role == "candidate" for one in sample.phases),
    }
    return StepResult(result, {"sample": path}, {"numpy": np.__version__})


def _sample(
    definition: DataDefinition,
    given: Pattern,
    files: Mapping[str, Path],
    engine: RietveldEngine,
    instrument: Instrument,
) -> samples.Sample:
    return samples.Sample(
        engine.name,
        given,
        tuple(_phase(one, files[one.name]) for one in definition.phases),
        instrument,
        definition.limits_deg,
        definition.excluded_deg,
        equal=tuple(one.equal for one in definition.ties if one.equal),
        sums=tuple(Sum(one.sum_of, one.total) for one in definition.ties if one.sum_of),
    )


def _instrument(definition: DataDefinition, workdir: Path) -> Instrument:
    given = {key: value for key, value in definition.instrument.items() if key not in INSTRUMENT_FILE}
    if "file" not in definition.instrument:
        return from_json(Instrument, given)
    about = from_json(_InstrumentFile, {key: definition.instrument.get(key, 1) for key in INSTRUMENT_FILE})
    path = pinned(definition.source, PinnedFile("instrument", about.file, about.sha256), workdir)
    try:
        found = read_instrument(path, bank=about.bank)
    except UserError as error:
        raise EngineFailure(str(error)) from None
    whole = {**asdict(found), **given}
    return from_json(Instrument, {**whole, "wavelengths_angstrom": list(whole["wavelengths_angstrom"])})


def _phase(one: PinnedPhase, path: Path) -> samples.GivenPhase:
    try:
        cif = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path}: is no UTF-8 text; save the CIF as such") from None
    return samples.GivenPhase(Phase(one.name, cif, one.march_axis), one.role)


def pinned(source: Source | None, wanted: PinnedFile, workdir: Path) -> Path:
    """Return the file with this digest: of the campaign's folder, else of a package, else downloaded. UserError."""
    path = local_data.folder(workdir) / wanted.file
    if not path.is_file() and source is not None:
        path = packaged(source, wanted.file) if source.package else _downloaded(source.url, wanted.file, workdir)
    if not path.is_file():
        raise UserError(f"{path}: there is no such file; put it there")
    if file_digest(path) != wanted.sha256:
        raise UserError(
            f"{path}: is not the file that campaign.yaml pins (sha256 {wanted.sha256[:12]}...); put that one there"
        )
    return path


def packaged(source: Source, name: str) -> Path:
    """Return the file `name` in a folder of an installed package. UserError if that is not there."""
    spec = importlib.util.find_spec(source.package) if source.package else None
    if spec is None or spec.origin is None:
        raise UserError(f"the package {source.package}, which ships {name}, is not installed; install it")
    return Path(spec.origin).parent / source.folder / name


def _downloaded(url: str, name: str, workdir: Path) -> Path:
    path = workdir / "downloaded" / name
    if path.is_file():
        return path
    try:
        with urllib.request.urlopen(f"{url}{name}", timeout=TIMEOUT_S) as answer:  # noqa: S310 - https by the schema
            content = answer.read(LARGEST_BYTES + 1)
    except (urllib.error.URLError, OSError) as error:
        said = getattr(error, "reason", error)
        raise UserError(
            f"{url}{name}: could not be downloaded ({said}); or put {name} into the campaign's folder "
            f"{local_data.FOLDER}"
        ) from None
    write_bytes(path, content)
    return path
