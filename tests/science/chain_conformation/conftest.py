"""Short chains for the tests of the stages, equilibrated once a session by the real LAMMPS; and records of tries."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sophron.interfaces.kind import Cores, StepContext, StepResult, UpstreamStep
from sophron.records import documents, process_identity

DYNAMICS = {"temperature": 1.0, "timestep": 0.01, "damping": 1.0}
SAMPLING = {"discard_steps": 1000, "steps": 4000, "sample_every": 20}
REPELLING: Mapping[str, Mapping[str, Any]] = {
    "build": {
        "chains": 8,
        "chain_length": 10,
        "density": 0.05,
        "model": {"pair": "wca", "special_bonds": "fene", "bonds": {"style": "fene", "k": 30.0, "r0": 1.5}},
    },
    "equilibrate": {**DYNAMICS, "push_off_steps": 500, "steps": 500},
    "sample": SAMPLING,
}
IDEAL: Mapping[str, Mapping[str, Any]] = {
    "build": {
        "chains": 64,
        "chain_length": 8,
        "density": 0.1,
        "model": {"pair": "none", "bonds": {"style": "harmonic", "k": 1.5}},
    },
    "equilibrate": {**DYNAMICS, "timestep": 0.02, "push_off_steps": 0, "steps": 3000},
    "sample": {"discard_steps": 0, "steps": 20_000, "sample_every": 50},
}
BEFORE = {"equilibrate": "build", "sample": "equilibrate"}
NOWHERE: dict[str, Any] = {"scheduler": None, "job": None, "pilot": None, "worker": None, "dispatcher": None}
LOCAL = {**process_identity.placement({}), **NOWHERE}
SLURM = {**LOCAL, "scheduler": "slurm", "job": "17"}
PARSL = {**LOCAL, "pilot": "parsl", "worker": "a1/0"}
DISPATCHED = {**LOCAL, "dispatcher": "dpdispatcher"}


@dataclass
class System:
    """An equilibrated system: the definitions it is made from, and the results of its stages so far."""

    definitions: Mapping[str, Mapping[str, Any]]
    results: dict[str, StepResult] = field(default_factory=dict)

    def context(
        self, folder: Path, stage: str, place: Mapping[str, Any] = MappingProxyType(LOCAL), ranks: int = 1
    ) -> StepContext:
        """Context of a step that works in `folder`/work and logs in `folder`/1, whose try was begun in `place`."""
        work, log = folder / "work", folder / "1"
        work.mkdir(parents=True, exist_ok=True)
        log.mkdir(exist_ok=True)
        (log / "try.json").write_text(json.dumps({"placement": dict(place)}))
        module = stage.split("_", maxsplit=1)[0]
        before, upstream = BEFORE.get(module), {}
        if before is not None:
            upstream = {before: [UpstreamStep(before, {}, self.results[before].result, self.results[before].files)]}
        return StepContext(
            stage=stage,
            wildcards={"replica": "0"},
            definition=self.definitions[module],
            upstream=upstream,
            workdir=work,
            log_dir=log,
            seed=20_240_117,
            cores=Cores(ranks=ranks),
            runtime_min=5,
        )

    def run(self, folder: Path, stage: str, **more: Any) -> StepResult:
        """Run a stage on the results before it; its typed result must be valid against its schema."""
        module = stage.split("_", maxsplit=1)[0]
        result: StepResult = import_module(f"sophron.science.chain_conformation.{module}").run(
            self.context(folder, stage, **more)
        )
        valid(module, result.result)
        return result


def valid(stage: str, result: Mapping[str, Any]) -> None:
    """A result must fit its stage's schema."""
    schema = documents.schema(f"chain_conformation/{stage}")
    Draft202012Validator({"$defs": schema["$defs"], "$ref": "#/$defs/result"}).validate(json.loads(json.dumps(result)))


def _equilibrated(folder: Path, definitions: Mapping[str, Any]) -> System:
    system = System(definitions)
    for stage in ("build", "equilibrate"):
        system.results[stage] = system.run(folder / stage, stage)
    return system


@pytest.fixture(scope="session")
def repelling(tmp_path_factory: pytest.TempPathFactory) -> System:
    """Eight chains of ten beads that repel each other."""
    return _equilibrated(tmp_path_factory.mktemp("repelling"), REPELLING)


@pytest.fixture(scope="session")
def ideal(tmp_path_factory: pytest.TempPathFactory) -> System:
    """64 ideal chains of eight beads."""
    return _equilibrated(tmp_path_factory.mktemp("ideal"), IDEAL)
