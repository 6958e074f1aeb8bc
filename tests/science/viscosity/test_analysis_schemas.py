import pytest
from jsonschema import Draft202012Validator

from sophron.records.documents import schema


def objects(part):
    if isinstance(part, dict):
        if isinstance(part.get("properties"), dict):
            yield part
        for value in part.values():
            yield from objects(value)


@pytest.mark.parametrize("stage", ["green_kubo", "rouse", "diffusion", "cross_check"])
def test_schemas_are_closed_and_described(stage):
    document = schema(f"viscosity/{stage}")
    Draft202012Validator.check_schema(document)
    assert {"definition", "result"} <= set(document["$defs"])
    for part in objects(document["$defs"]):
        assert part["additionalProperties"] is False
        assert set(part.get("required", [])) <= set(part["properties"])
        assert all(len(value["description"]) > 10 for value in part["properties"].values())


@pytest.mark.parametrize(
    ("stage", "definition", "valid"),
    [
        ("green_kubo", {"replicas": 4, "max_lag_tau": 10.0}, True),
        ("green_kubo", {"replicas": 0, "max_lag_tau": 10.0}, False),
        ("green_kubo", {"replicas": 4}, False),
        ("rouse", {"modes": 4}, True),
        ("rouse", {"modes": 0}, False),
        ("diffusion", {"from_tau": 2.0, "to_tau": 20.0}, True),
        ("diffusion", {"from_tau": 0.0, "to_tau": 20.0}, False),
        ("cross_check", {}, True),
        ("cross_check", {"form": "carreau"}, False),
    ],
)
def test_definitions(stage, definition, valid):
    assert Draft202012Validator(schema(f"viscosity/{stage}")["$defs"]["definition"]).is_valid(definition) is valid
