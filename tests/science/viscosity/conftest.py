"""Small systems for the tests of the compute stages, each equilibrated once a session by the real LAMMPS."""

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

FENE = {"bonds": {"style": "fene", "k": 30.0, "r0": 1.5}, "special_bonds": "fene"}
LIQUID: Mapping[str, Mapping[str, Any]] = {
    "build": {
        "atoms": 108,
        "chain_length": 1,
        "density": 0.8442,
        "model": {"pair": "lj", "cutoff": 2.3, "shift": True},
    },
    "relax": {"temperature": 1.5, "timestep": 0.005, "steps": 500},
    "equilibrate": {
        "temperature": 0.722,
        "timestep": 0.005,
        "damping": 0.5,
        "discard_steps": 500,
        "steps": 2000,
        "settle_steps": 200,
    },
    "produce": {"timestep": 0.005, "steps": 400, "sample_every": 5, "thermo_every": 10, "restart_every": 100},
}
MELT: Mapping[str, Mapping[str, Any]] = {
    "build": {
        "atoms": 200,
        "chain_length": 10,
        "density": 0.85,
        "model": {"pair": "lj", "cutoff": 2 ** (1 / 6), "shift": True, **FENE},
    },
    "relax": {
        "temperature": 1.0,
        "timestep": 0.005,
        "steps": 1000,
        "push_off": {"steps": 3000, "prefactor": 60.0, "max_displacement": 0.05},
    },
    "equilibrate": {
        "temperature": 1.0,
        "timestep": 0.005,
        "damping": 1.0,
        "discard_steps": 1000,
        "steps": 2000,
        "settle_steps": 200,
    },
    "produce": {**LIQUID["produce"], "frame_every": 50},
    "shear": {
        "rates": [0.1],
        "temperature": 1.0,
        "timestep": 0.005,
        "damping": 0.5,
        "discard_steps": 500,
        "steps": 2000,
        "sample_every": 10,
        "restart_every": 500,
    },
}
UPSTREAM = {"relax": "build", "equilibrate": "relax", "produce": "equilibrate", "shear": "equilibrate"}


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
        values = {"wildcards": {"replica": "0", "rate": "0.1"}, "seed": 20_240_117, "runtime_min": 5, **more}
        definition = {**self.definitions[stage], **changes}
        return StepContext(stage=stage, definition=definition, upstream=upstream, workdir=work, log_dir=log, **values)

    def run(
        self, folder: Path, stage: str, changes: Mapping[str, Any] = MappingProxyType({}), **more: Any
    ) -> StepResult:
        """Run a stage on the results before it; its typed result must be valid against its schema."""
        result: StepResult = import_module(f"sophron.science.viscosity.{stage}").run(
            self.context(folder, stage, changes, **more)
        )
        schema = documents.schema(f"viscosity/{stage}")
        Draft202012Validator({"$defs": schema["$defs"], "$ref": "#/$defs/result"}).validate(result.result)
        return result


def _equilibrated(folder: Path, definitions: Mapping[str, Any]) -> System:
    system = System(definitions)
    for stage in ("build", "relax", "equilibrate"):
        system.results[stage] = system.run(folder / stage, stage)
    return system


@pytest.fixture(scope="session")
def liquid(tmp_path_factory: pytest.TempPathFactory) -> System:
    """108 LJ beads near the triple point."""
    return _equilibrated(tmp_path_factory.mktemp("liquid"), LIQUID)


@pytest.fixture(scope="session")
def melt(tmp_path_factory: pytest.TempPathFactory) -> System:
    """20 chains of 10 beads, the standard Kremer-Grest melt."""
    return _equilibrated(tmp_path_factory.mktemp("melt"), MELT)
