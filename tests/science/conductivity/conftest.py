"""A small Lennard-Jones solid for the tests of the compute stages, equilibrated once a session by the real LAMMPS."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sophron.interfaces.kind import StepContext, StepResult, UpstreamStep
from sophron.records import documents

ARGON: Mapping[str, Mapping[str, Any]] = {
    "build": {
        "units": "lj",
        "lattice": {"style": "fcc", "constant": 1.6},
        "cells": [3, 3, 4],
        "species": [{"element": "Ar", "mass": 1.0}],
        "pair_style": "lj/cut",
        "cutoff": 2.3,
    },
    "equilibrate": {
        "temperature": 0.4,
        "timestep": 0.005,
        "damping": 0.5,
        "discard_steps": 500,
        "steps": 1000,
        "settle_steps": 100,
        "sample_every": 10,
    },
    "green_kubo_flux": {
        "timestep": 0.005,
        "steps": 1000,
        "sample_every": 5,
        "restart_every": 200,
        "heat_flux": {"compute": "stress/atom"},
    },
    "mueller_plathe": {
        "copies": [2, 3, 4],
        "timestep": 0.005,
        "damping": 0.5,
        "settle_steps": 200,
        "discard_steps": 500,
        "steps": 2000,
        "swap_every": 20,
        "slab_cells": 1,
        "sample_every": 10,
        "block_steps": 100,
        "fit_share": 0.7,
    },
}
SILICON_CARBIDE: Mapping[str, Mapping[str, Any]] = {
    "build": {
        "units": "metal",
        "lattice": {"style": "zincblende", "constant": 4.36},
        "cells": [2, 2, 4],
        "species": [{"element": "Si", "mass": 28.0855}, {"element": "C", "mass": 12.0107}],
        "pair_style": "tersoff",
        "potential": "SiC.tersoff",
    },
    "equilibrate": {
        **ARGON["equilibrate"],
        "temperature": 300.0,
        "timestep": 0.001,
        "damping": 0.1,
        "discard_steps": 200,
        "steps": 400,
    },
    "green_kubo_flux": {**ARGON["green_kubo_flux"], "timestep": 0.001, "steps": 200},
}
UPSTREAM = {"equilibrate": "build", "green_kubo_flux": "equilibrate", "mueller_plathe": "equilibrate"}


@dataclass
class System:
    """An equilibrated system: the definitions it is made from, and the results of its stages so far."""

    definitions: Mapping[str, Mapping[str, Any]]
    results: dict[str, StepResult] = field(default_factory=dict)

    def context(
        self, folder: Path, stage: str, changes: Mapping[str, Any] = MappingProxyType({}), **more: Any
    ) -> StepContext:
        """Context of a step that works in `folder`/work and logs in `folder`/log; `changes` go into its definition."""
        work, log = folder / "work", folder / "log"
        work.mkdir(parents=True, exist_ok=True)
        log.mkdir(exist_ok=True)
        before = UPSTREAM.get(stage)
        upstream = {}
        if before is not None:
            upstream = {before: [UpstreamStep(before, {}, self.results[before].result, self.results[before].files)]}
        values = {"wildcards": {"replica": "0", "copies": "2"}, "seed": 20_240_117, "runtime_min": 5, **more}
        definition = {**self.definitions[stage], **changes}
        return StepContext(stage=stage, definition=definition, upstream=upstream, workdir=work, log_dir=log, **values)

    def run(
        self, folder: Path, stage: str, changes: Mapping[str, Any] = MappingProxyType({}), **more: Any
    ) -> StepResult:
        """Run a stage on the results before it; its typed result must be valid against its schema."""
        context = self.context(folder, stage, changes, **more)
        result: StepResult = import_module(f"sophron.science.conductivity.{stage}").run(context)
        valid(stage, result.result)
        return result


def valid(stage: str, result: Mapping[str, Any]) -> None:
    """A result must fit its stage's schema."""
    schema = documents.schema(f"conductivity/{stage}")
    Draft202012Validator({"$defs": schema["$defs"], "$ref": "#/$defs/result"}).validate(result)


def _equilibrated(folder: Path, definitions: Mapping[str, Any]) -> System:
    system = System(definitions)
    for stage in ("build", "equilibrate"):
        system.results[stage] = system.run(folder / stage, stage)
    return system


@pytest.fixture(scope="session")
def argon(tmp_path_factory: pytest.TempPathFactory) -> System:
    """144 LJ atoms in a face-centred crystal."""
    return _equilibrated(tmp_path_factory.mktemp("argon"), ARGON)


@pytest.fixture(scope="session")
def silicon_carbide(tmp_path_factory: pytest.TempPathFactory) -> System:
    """128 atoms of 3C-SiC with Tersoff's potential."""
    return _equilibrated(tmp_path_factory.mktemp("silicon_carbide"), SILICON_CARBIDE)
