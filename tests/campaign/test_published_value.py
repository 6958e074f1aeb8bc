"""The answer against a constant, however it is written; errors, ratios and comparisons of estimates are left alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophron.campaign.spec.criteria import parse
from sophron.campaign.spec.criteria_review import constants_compared, quantity
from sophron.records import documents
from sophron.records.files import resource

SCHEMA = {
    "answer": {"value": "v", "standard_error": "e", "interval": {"low": "low", "high": "high", "level": 0.95}},
    "of_answer": {"estimates": {"w": 1, "inverse": -1, "square": 2}, "errors": {"block_error": 1}},
}
SIGNED = {"question.conditions.eta": 3.24, "definition.one": 1, "definition.nothing": 0}
REFERENCE = {"low": 3.2, "high": 3.35, "source": "A paper"}


def compared(expression, reference=REFERENCE):
    return constants_compared(parse(expression), quantity(SCHEMA), SIGNED, reference)


@pytest.mark.parametrize(
    "expression",
    [
        "abs(v - 3.24) < 0.05 * 3.24", "v > 3.078 and v < 3.402", "3.078 < v < 3.402", "v / 3.24 < 1.05", "v - 3 < 0.24",
        "not v > 3.4", "min(v, 5) > 3", "max(v, 3.24) == 3.24", "min(v, 3.24) == v", "sqrt(v) < 1.8", "v ** 2 < 10",
        "-v < -3", "v ** 1e-13 > 1", "2 ** v < 9", "abs(v) < 3.3", "isfinite(sqrt(v - 3.24))", "not (v - 3.24)",
        "v < question.conditions.eta", "v < 3.24 * definition.one", "v > definition.nothing + 3", "v > 0 * v + 3",
        "v - drift < 3.24", "v * replicas > 12", "v > 3.24 * drift", "v / temperature < 3.3", "v > replicas",
        "low < 3.24 and high > 3.24", "w > 3", "v == w and w > 2", "1 / inverse > 3", "inverse < 0.3", "square < 10",
        "v / (e + 3.2) < 1", "(v - 3.24) / e < 2", "v > 3.24 * v / v", "abs(v / w - 1) + abs(w - 3) < 1", "v + e > 3 + e",
        "v > 3.24 * (e / e)", "(v > 3) * 5 > 2", "1 < v < 3", "v > 3 or drift > 1", "v - 1 < 2.3", "sqrt(v * w) > 3",
    ],
)  # fmt: skip
def test_the_answer_against_a_constant_is_seen(expression):
    assert len(compared(expression)) >= 1


@pytest.mark.parametrize(
    "expression",
    [
        "v > 0", "0 < v", "v >= 0 and v <= 1", "v != 0", "v > 0 * 3.24", "e / v < 0.05", "e < 0.05 * v", "e < 0.1",
        "abs(v - w) < 3 * sqrt(e ** 2 + block_error ** 2)", "v / e > 27", "v * inverse < 1.1", "square >= v ** 2",
        "abs(v - w) / v < 0.1", "max(e, block_error) < 0.05 * v", "drift < 3.24", "low < v < high", "isfinite(v)", "v",
        "not v", "relative_error < 0.02 and replicas >= 4", "v < definition.one",
    ],
)  # fmt: skip
def test_what_compares_no_constant_with_the_answer_is_left_alone(expression):
    assert compared(expression) == []


def test_one_is_no_physical_bound_if_it_is_the_published_value():
    assert compared("v > 1", {"low": 0.98, "high": 1.05}) == ["v > 1"]
    assert compared("v > 1", None) == []


def test_a_stage_without_an_answer_has_none():
    assert constants_compared(parse("total > 400"), quantity({}), {}) == []


@settings(max_examples=150, deadline=None)
@given(st.floats(1.5, 1e6), st.data())
def test_no_rewriting_of_a_bound_hides_it(bound, data):
    left, right = "v", repr(round(bound, 6))
    for _ in range(data.draw(st.integers(1, 5))):
        shape = data.draw(
            st.sampled_from(["({} + drift)", "({} * 7)", "(0.5 * {})", "({} - 2)", "sqrt(abs({}))", "abs({})", "(-{})"])
        )
        left, right = shape.format(left), shape.format(right)
    sign = data.draw(st.sampled_from(["<", "<=", ">", ">=", "=="]))
    sides = data.draw(st.permutations([left, right]))
    assert compared(f"{sides[0]} {sign} {sides[1]}")


def test_every_name_of_an_answer_is_one_of_its_stages_result():
    folder, found = resource("schemas"), 0
    for path in folder.glob("*/*.schema.yaml"):
        schema = documents.schema(str(path.relative_to(folder)).removesuffix(".schema.yaml"))
        powers = quantity(schema).powers
        found += bool(powers)
        assert set(powers) <= set(schema.get("$defs", {}).get("result", {}).get("properties", {})), path
    assert found >= 11
