"""Samples of powder diffraction for a curriculum: measured patterns from files, and simulated scans from a seed."""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sophron.agentbuild.curriculum import Given
from sophron.agentbuild.rubric import Json
from sophron.interfaces.rietveld import Instrument, Phase, RietveldEngine
from sophron.records import entry_points
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json
from sophron.science.rietveld import pattern
from sophron.science.rietveld.data import REGISTRY
from sophron.science.rietveld.session.sample import GivenPhase, Role, Sample, data

FOLDER_VARIABLE = "SOPHRON_XRD_DATA"
EXAMPLES = "rietx"
"""The folder of this name is that of the examples which come with the engine."""


def of_files(folder: Path, parameters: Json) -> Given:
    """Return a measured pattern from files of a folder.

    parameters: `engine`, `folder` (`rietx`, or one below SOPHRON_XRD_DATA), `pattern`, `phases` (list of name, role,
    cif), `instrument`, `limits_deg`. The files keep their own licence, so no contract holds them. UserError if they
    are not there.
    """
    del folder
    source = _source(parameters["folder"])
    with _engine(parameters["engine"]) as engine:
        read = pattern.read(_there(source / parameters["pattern"]), engine)
    phases = tuple(
        GivenPhase(Phase(one["name"], _there(source / one["cif"]).read_text(encoding="utf-8")), one["role"])
        for one in parameters["phases"]
    )
    limits = parameters["limits_deg"]
    instrument = from_json(Instrument, parameters["instrument"])
    return _given(Sample(parameters["engine"], read, phases, instrument, (limits[0], limits[1])))


def of_series(folder: Path, parameters: Json) -> Given:
    """Return a simulated scan. parameters: `engine`, `series`, `count_time_s`, `seed`."""
    del folder
    from sophron.science.rietveld.simulated import series

    named = series.series(parameters["series"])
    with _engine(parameters["engine"]) as engine:
        scan = series.scan(series.truth(engine, named), parameters["count_time_s"], parameters["seed"])
    phases = (_untold(series.phase(named.main), "main"), _untold(series.phase(named.candidate), "candidate"))
    untold = replace(scan, name=f"simulated scan, {parameters['count_time_s']:g} s, seed {parameters['seed']}")
    return _given(Sample(parameters["engine"], untold, phases, series.instrument(true=False)))


def _untold(phase: Phase, role: Role) -> GivenPhase:
    """A structure without comments: titles of series and comments of structures say what the agent is to find."""
    kept = [line for line in phase.cif.splitlines(keepends=True) if not line.startswith("#")]
    return GivenPhase(replace(phase, cif="".join(kept)), role)


def _given(sample: Sample) -> Given:
    phases = [{"name": one.phase.name, "role": one.role} for one in sample.phases]
    about = {"pattern": sample.pattern.name, "engine": sample.engine, "counts": sample.counts, "phases": phases}
    return Given(data(sample), about)


def _source(name: str) -> Path:
    if name == EXAMPLES:
        spec = importlib.util.find_spec("rietx")
        if spec is None or spec.origin is None:
            raise UserError("the package rietx is not installed; pip install 'sophron[xrd]'")
        return Path(spec.origin).parent / "data" / "examples"
    below = os.environ.get(FOLDER_VARIABLE)
    if not below:
        raise UserError(f"{FOLDER_VARIABLE} is not set; name the folder that holds {name or 'the patterns'} there")
    return Path(below) / name


def _there(path: Path) -> Path:
    if not path.is_file():
        raise UserError(f"{path}: there is no such file; put it there, or name another folder in {FOLDER_VARIABLE}")
    return path


@contextmanager
def _engine(name: str) -> Iterator[RietveldEngine]:
    engine: RietveldEngine = entry_points.load(REGISTRY, name)()
    if lack := engine.missing():
        raise UserError(lack)
    try:
        yield engine
    finally:
        engine.close()
