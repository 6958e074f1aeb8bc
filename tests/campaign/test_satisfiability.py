"""Criteria that cannot fail or never pass are found; those that can do both are not taken for such."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sophron.campaign.scaffold import campaign_folder
from sophron.campaign.spec import criteria, criteria_review, satisfiability, spec
from sophron.records.files import resource

SCHEMAS = {
    "x": {"type": "number"},
    "y": {"type": "number"},
    "n": {"type": "integer", "minimum": 0},
    "b": {"type": "boolean"},
    "ratio": {"type": ["number", "null"], "minimum": 3},
    "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
}


def verdict(expression, **constants):
    """Whether it can pass, and whether it can fail."""
    tree = criteria.parse(expression)
    schemas = {name: SCHEMAS[name] for name in criteria.names_of(tree) if name in SCHEMAS}
    signed = {key.replace("__", "."): value for key, value in constants.items()}
    return satisfiability.can_pass(tree, schemas, signed), satisfiability.can_fail(tree, schemas, signed)


@pytest.mark.parametrize(
    "expression",
    [
        "True or x", "x == x", "not x != x", "abs(x) >= 0", "x > 1 or x <= 1", "x * x >= 0", "x ** 0 == 1", "0 * x == 0",
        "x / x == 1", "x - x == 0", "(x - y) ** 2 >= 0", "abs(x - y) >= x - y", "max(x, y) >= y", "min(x, 1) <= 1",
        "b or not b", "b >= 0", "x < 1 or x > 0", "n >= 0", "n > -1", "share > 0", "share <= 1", "isfinite(x)",
        "sqrt(share) > 0", "1 < 2 or x > 3", "not (x > 1 and x < 1)", "n == 7 or n != 7", "ratio >= 3",
    ],
)  # fmt: skip
def test_what_cannot_fail_is_found(expression):
    assert verdict(expression) == (True, False)


@pytest.mark.parametrize(
    "expression",
    [
        "x > 5 and x < 4", "x == x + 1", "x < y and y < x", "n == 2.5", "n < 0", "b > 1", "x * x < 0", "sqrt(x) < 0",
        "x != x", "n > 0.5 and n < 0.9", "share > 1", "ratio < 3", "False and x", "n + 0.5 == 3", "abs(x) < -1",
        "n == definition.steps / 3 + 1",
    ],
)  # fmt: skip
def test_what_can_never_pass_is_found(expression):
    assert verdict(expression, definition__steps=2000) == (False, True)


@pytest.mark.parametrize(
    "expression",
    [
        "x == y", "x != 0.123456", "x + y != 3.7", "abs(x - 0.8442) < 1e-6", "x == y / 3", "b", "not b", "n == 68001 and b",
        "abs(x - 2 * y) < 1e-9 and y > 5", "x * y == 12.5", "sqrt(x) * 3 == y and x > 100", "3.078 < x < 3.402",
        "x ** 2 + y ** 2 < 1e-8", "x ** 2 + y ** 2 < 1 and x > 0.9 and y > 0.3", "min(x, y) > 7 and max(x, y) < 7.1",
        "abs(abs(x) - 4) < 0.001", "x / y > 1e6 and y > 3", "1 / x < 1e-12 and x > 0", "x * y * n > 1e20", "x < 1e200",
        "n == 3 * x and x > 1.1 and x < 1.4", "n == definition.steps / 5 + 1", "isfinite(ratio)", "share == 1", "x",
    ],
)  # fmt: skip
def test_what_can_pass_and_fail_is_not_taken_for_less(expression):
    assert verdict(expression, definition__steps=2000) == (True, True)


def test_a_very_long_expression_is_left_to_people_in_bounded_time():
    long = " and ".join(f"x * {place} + y >= y + x * {place}" for place in range(1, 18))
    assert len(long) <= 500
    assert verdict(long) == (True, True)  # not decided


NUMBERS = st.floats(-1e6, 1e6).map(lambda value: round(value, 6)) | st.integers(-(10**6), 10**6)
SIDES = st.sampled_from(["x", "(2 * x)", "(x + y)", "(x - 3 * y)", "(y / 7)", "max(x, y)", "n"])


@settings(max_examples=60, deadline=None)
@given(SIDES, NUMBERS, st.floats(1e-6, 10).map(lambda width: round(width, 6)), st.sampled_from(["<", "<=", ">", ">="]))
def test_a_window_and_a_bound_are_neither_vacuous_nor_hopeless(side, middle, width, sign):
    if side == "n":
        middle, width = abs(round(middle)) + 1, max(width, 0.5)
    assert verdict(f"abs({side} - {middle!r}) < {width!r}") == (True, True)
    assert verdict(f"{side} {sign} {middle!r}") == (True, True)


@settings(max_examples=6, deadline=None)
@given(SIDES, NUMBERS, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
@example("max(x, y)", 17.123456, "==")  # the longest search of them
@example("max(x, y)", -3, "!=")
def test_a_statement_or_its_opposite_cannot_fail_and_both_can_never_pass(side, middle, sign):
    one = f"{side} {sign} {middle!r}"
    assert not verdict(f"{one} or not {one}")[1]
    assert not verdict(f"{one} and not {one}")[0]


TERMS = st.recursive(
    st.sampled_from(["x", "y", "n", "b", "ratio", "0", "1", "2.5", "1e-9", "definition.steps", "1e300"]),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "**", "<", "and", "or"]), inner)
        | st.builds("{}({})".format, st.sampled_from(["abs", "sqrt", "-", "not ", "isfinite", "min"]), inner)
        | st.builds("{}({}, {})".format, st.sampled_from(["min", "max", "sqrt"]), inner, inner)
    ),
    max_leaves=6,
)


@settings(max_examples=25, deadline=None)
@given(st.builds("{} {} {}".format, TERMS, st.sampled_from(["<", "==", "!=", "> 0 or x >"]), TERMS))
def test_whatever_is_a_criterion_is_looked_at_without_an_error(expression):
    signed = {"definition.steps": 2000}
    try:
        criteria.check(expression, {"properties": SCHEMAS}, signed)
    except criteria.CriterionError:
        return
    verdict(expression, definition__steps=2000)
    answer = criteria_review.quantity({"answer": {"value": "x", "standard_error": "y"}})
    criteria_review.constants_compared(criteria.parse(expression), answer, signed, {"low": 1, "high": 2})


SHIPPED = sorted(resource("campaigns").glob("*/campaign.yaml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_no_criterion_of_a_shipped_campaign_keeps_its_gate_closed(path):
    assert criteria_review.closed(spec.load(path)) == []


@pytest.mark.parametrize(
    "kind", ["viscosity", "conductivity", "chain_conformation", "host_guest", "rietveld", "sequence_bo", "agent_build"]
)
def test_no_criterion_of_a_new_campaign_keeps_its_gate_closed(kind, tmp_path):
    campaign_folder.create(kind, tmp_path / "fresh")
    made = spec.load(tmp_path / "fresh" / "campaign.yaml")
    assert criteria_review.closed(made) == []
    held_out = spec.Criterion("held_out", "held_out_passed == question.conditions.held_out", "")
    assert kind != "agent_build" or not criteria_review.is_presence_check(made, "build", held_out)


def test_presence_checks_are_known_as_such():
    melt = spec.load(resource("campaigns", "kg-melt-viscosity", "campaign.yaml"))
    found = {
        f"{stage.name}.{one.id}"
        for stage in melt.stages
        for one in melt.criteria(stage.name)
        if criteria_review.is_presence_check(melt, stage.name, one)
    }
    assert found == {"build.bonds", "produce.samples"}
    # a plateau ratio below 3 is refused by the estimator already: the criterion fails if there is no number
    assert criteria_review.is_presence_check(melt, "green_kubo", spec.Criterion("ratio", "cutoff_ratio >= 3", ""))
    assert criteria_review.labels(melt, "shear", melt.criteria("shear")[1]) == " (holds by construction)"
    files = spec.Criterion("files", "files_missing == 0 and smallest_file_bytes > 9", "There.")
    assert criteria_review.labels(melt, "produce", files) == " (presence check)"
