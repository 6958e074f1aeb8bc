"""Stage data: the files of one pattern, pinned by their digests, as the one document that a refinement gets."""

from __future__ import annotations

import importlib.util
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.interfaces.rietveld import Phase, RietveldEngine
from sophron.records import entry_points
from sophron.records.atomic import write_bytes, write_json
from sophron.records.canonical_json import file_digest
from sophron.records.errors import UserError
from sophron.science import local_data
from sophron.science.rietveld import pattern as patterns
from sophron.science.rietveld.session import sample as samples

REGISTRY = "sophron.rietveld_engines"
TIMEOUT_S = 60.0
LARGEST_BYTES = 64 * 1024**2


def run(ctx: StepContext) -> StepResult:
    """Check everything that the refinement of this pattern starts from.

    UserError where a file is not there: with the file the next call goes on. EngineFailure where the pinned one is
    unfit, which only another definition cures.
    """
    definition = ctx.definition
    about = next(one for one in definition["patterns"] if one["name"] == ctx.wildcards["pattern"])
    files = {
        one["name"]: pinned(definition["source"], one["file"], one["sha256"], ctx.workdir)
        for one in (about, *definition["phases"])
    }
    engine: RietveldEngine = entry_points.load(REGISTRY, definition["engine"])()
    try:
        sample = _sample(definition, about, files, engine)
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
    definition: Mapping[str, Any], about: Mapping[str, Any], files: Mapping[str, Path], engine: RietveldEngine
) -> samples.Sample:
    phases = tuple(_phase(one, files[one["name"]]) for one in definition["phases"])
    given = patterns.read(files[about["name"]], engine)
    limits = definition["limits_deg"]
    return samples.Sample(
        engine.name,
        type(given)(about["name"], given.two_theta_deg, given.intensity, given.sigma),
        phases,
        samples.instrument(definition["instrument"]),
        None if limits is None else (limits[0], limits[1]),
        tuple((low, high) for low, high in definition["excluded_deg"]),
    )


def _phase(one: Mapping[str, Any], path: Path) -> samples.GivenPhase:
    try:
        cif = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path}: is no UTF-8 text; save the CIF as such") from None
    axis = one["march_axis"]
    return samples.GivenPhase(
        Phase(one["name"], cif, None if axis is None else (axis[0], axis[1], axis[2])), one["role"]
    )


def pinned(source: Mapping[str, Any] | None, name: str, sha256: str, workdir: Path) -> Path:
    """The file with this digest: of the campaign's folder, else of a package, else downloaded. UserError."""
    path = local_data.folder(workdir) / name
    if not path.is_file() and source is not None:
        path = packaged(source, name) if "package" in source else _downloaded(source["url"], name, workdir)
    if not path.is_file():
        raise UserError(f"{path}: there is no such file; put it there")
    if file_digest(path) != sha256:
        raise UserError(
            f"{path}: is not the file that campaign.yaml pins (sha256 {sha256[:12]}...); put that one there"
        )
    return path


def packaged(source: Mapping[str, Any], name: str) -> Path:
    """The file `name` in a folder of an installed package: `{package, folder}`. UserError where that is not there."""
    spec = importlib.util.find_spec(source["package"])
    if spec is None or spec.origin is None:
        raise UserError(f"the package {source['package']}, which ships {name}, is not installed; install it")
    folder: str = source["folder"]
    return Path(spec.origin).parent / folder / name


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
