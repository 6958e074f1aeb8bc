"""The kind: ways from one start, a comparison of those that are there, schemas that fit, and an import that costs nothing."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from jsonschema import Draft202012Validator

from sophron.interfaces.kind import EngineFailure
from sophron.kinds.chain_conformation.kind import KIND
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.science.chain_conformation.build import Model
from sophron.science.chain_conformation.execution_backends import WAYS

STAGES = ("build", "equilibrate", "sample", "compare")
FENE = {"pair": "wca", "special_bonds": "fene", "bonds": {"style": "fene", "k": 30.0, "r0": 1.5}}


def objects(part):
    if isinstance(part, dict):
        if isinstance(part.get("properties"), dict) and part.get("type") == "object":
            yield part
        for value in part.values():
            yield from objects(value)


def test_every_way_starts_from_the_same_stage_and_compare_takes_those_that_are_there():
    assert [stage.name for stage in KIND.stages if not stage.optional] == ["build", "equilibrate", "compare"]
    assert all(KIND.stage(name).depends_on == ("equilibrate",) for name in WAYS)
    assert KIND.stage("compare").depends_on == tuple(WAYS)
    assert KIND.stage("compare").partial


def test_ranges_count_replicas_and_want_equal_ways():
    assert KIND.ranges({"build": {}}) == {"replica": ["0"]}
    two = {"sample_local": {"steps": 1}, "sample_parsl": {"steps": 1}}
    assert KIND.ranges({**two, "compare": {"replicas": 3}}) == {"replica": ["0", "1", "2"]}
    with pytest.raises(UserError, match=r"sample_parsl.definition is not that of sample_local"):
        KIND.ranges({**two, "sample_parsl": {"steps": 2}})
    with pytest.raises(UserError, match="compare needs two stages at least of sample_local, sample_slurm"):
        KIND.ranges({"sample_local": {}, "compare": {"replicas": 3}})


@pytest.mark.parametrize("stage", STAGES)
def test_schemas_are_closed_and_described_and_results_require_all(stage):
    document = documents.schema(f"chain_conformation/{stage}")
    Draft202012Validator.check_schema(document)
    for part in objects(document["$defs"]):
        assert part["additionalProperties"] is False
        assert set(part["required"]) <= set(part["properties"])
        assert all("$ref" in one or len(one["description"]) > 5 for one in part["properties"].values())
    result = document["$defs"]["result"]
    assert set(result["required"]) == set(result["properties"])


@pytest.mark.parametrize(
    ("changes", "valid"),
    [
        ({}, True),
        ({"special_bonds": "none"}, False),
        ({"bonds": {"style": "fene", "k": 30.0}}, False),
        ({"pair": "none", "bonds": {"style": "harmonic", "k": 1.5}}, True),
    ],
)
def test_a_model_wants_its_numbers(changes, valid):
    schema = documents.schema("chain_conformation/build")["$defs"]["model"]
    assert Draft202012Validator(schema).is_valid({**FENE, **changes}) is valid


def test_repelling_beads_need_the_weights_of_fene():
    schema = documents.schema("chain_conformation/build")["$defs"]["model"]
    assert not Draft202012Validator(schema).is_valid({"pair": "wca", "bonds": FENE["bonds"]})
    with pytest.raises(EngineFailure, match="wca goes with fene bonds, none with harmonic ones"):
        Model.of({**FENE, "pair": "none"})


def test_it_is_found_by_name():
    (entry,) = [entry for entry in entry_points(group="sophron.kinds") if entry.name == "chain_conformation"]
    assert entry.load() is KIND


def test_importing_it_loads_nothing_heavy():
    code = "import sys, sophron.kinds.chain_conformation.kind; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "jinja2", "jsonschema", "yaml", "subprocess"} & set(loaded)
