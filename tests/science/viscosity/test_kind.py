"""The kind: stages in order, ranges of wildcards, schemas that fit, and an import that costs nothing."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from jsonschema import Draft202012Validator

from sophron.kinds.viscosity.kind import KIND
from sophron.records import documents

COMPUTE = ("build", "relax", "equilibrate", "produce", "shear")


def test_stages_come_after_what_they_depend_on():
    seen = set()
    for stage in KIND.stages:
        assert set(stage.depends_on) <= seen
        seen.add(stage.name)


def test_ranges_follow_the_definitions():
    definitions = {"green_kubo": {"replicas": 3}, "shear": {"rates": [0.05, 0.005, 1e-5, 1]}}
    assert KIND.ranges(definitions) == {"replica": ["0", "1", "2"], "rate": ["0.05", "0.005", "1e-05", "1.0"]}


def test_without_shear_there_are_no_rates():
    assert KIND.ranges({"green_kubo": {"replicas": 1}}) == {"replica": ["0"]}


@pytest.mark.parametrize("name", COMPUTE)
def test_every_property_has_a_description(name):
    schema = documents.schema(KIND.stage(name).schema)
    Draft202012Validator.check_schema(schema)
    for part in schema["$defs"].values():
        assert part["additionalProperties"] is False
        assert set(part["required"]) <= set(part["properties"])
        for key, described in part["properties"].items():
            assert "$ref" in described or described["description"], key


def test_results_require_all_they_describe():
    for name in COMPUTE:
        result = documents.schema(f"viscosity/{name}")["$defs"]["result"]
        assert set(result["required"]) == set(result["properties"])


def test_it_is_found_by_name():
    (entry,) = [entry for entry in entry_points(group="sophron.kinds") if entry.name == "viscosity"]
    assert entry.load() is KIND


def test_importing_it_loads_nothing_heavy():
    code = "import sys, sophron.kinds.viscosity.kind; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "jinja2", "jsonschema", "yaml", "subprocess"} & set(loaded)
