"""The kind: both families from the same start, schemas that fit, and an import that costs nothing."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from jsonschema import Draft202012Validator

from sophron.kinds.conductivity.kind import KIND
from sophron.records import documents
from sophron.records.errors import UserError

STAGES = tuple(stage.name for stage in KIND.stages)
TERSOFF = {
    "units": "metal",
    "lattice": {"style": "zincblende", "constant": 4.36},
    "cells": [3, 3, 3],
    "species": [{"element": "Si", "mass": 28.0}, {"element": "C", "mass": 12.0}],
    "pair_style": "tersoff",
    "potential": "SiC.tersoff",
}


def objects(part):
    if isinstance(part, dict):
        if isinstance(part.get("properties"), dict) and part.get("type") == "object":
            yield part
        for value in part.values():
            yield from objects(value)


def test_every_method_starts_from_build_and_molecular_dynamics_from_equilibrate():
    assert [stage.name for stage in KIND.stages if not stage.optional] == ["build"]
    assert KIND.stage("displace").depends_on == KIND.stage("equilibrate").depends_on == ("build",)
    assert KIND.stage("green_kubo_flux").depends_on == KIND.stage("mueller_plathe").depends_on == ("equilibrate",)


def test_ranges_follow_the_method():
    assert KIND.ranges({"build": {}}) == {"replica": ["0"]}
    assert KIND.ranges({"green_kubo": {"replicas": 3}}) == {"replica": ["0", "1", "2"]}
    imposed = {"mueller_plathe": {"copies": [2, 4, 8]}, "extrapolate": {"replicas": 2}}
    assert KIND.ranges(imposed) == {"replica": ["0", "1"], "copies": ["2", "4", "8"]}


def test_batches_of_forces_are_counted():
    assert KIND.ranges({"forces": {"batches": 3}}) == {"replica": ["0"], "batch": ["0", "1", "2"]}


def test_two_methods_want_the_same_replicas():
    with pytest.raises(UserError, match="make them equal"):
        KIND.ranges({"green_kubo": {"replicas": 3}, "extrapolate": {"replicas": 2}})


@pytest.mark.parametrize("stage", STAGES)
def test_schemas_are_closed_and_described_and_results_require_all(stage):
    document = documents.schema(f"conductivity/{stage}")
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
        ({"units": "lj"}, False),
        ({"potential": "../SiC.tersoff"}, False),
        ({"pair_style": "lj/cut"}, False),
        ({"pair_style": "lj/cut", "units": "lj", "cutoff": 2.5}, True),
    ],
)
def test_a_pair_style_wants_its_units_and_its_numbers(changes, valid):
    definition = documents.schema("conductivity/build")["$defs"]["definition"]
    assert Draft202012Validator(definition).is_valid({**TERSOFF, **changes}) is valid


def test_it_is_found_by_name():
    (entry,) = [entry for entry in entry_points(group="sophron.kinds") if entry.name == "conductivity"]
    assert entry.load() is KIND


def test_importing_it_loads_nothing_heavy():
    code = "import sys, sophron.kinds.conductivity.kind; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "jinja2", "jsonschema", "yaml", "subprocess"} & set(loaded)
