"""Inputs of rule-based agents are read as types, and a field that does not fit is named."""

from dataclasses import dataclass

import pytest

from sophron.agents.rule_based.input_checks import read


@dataclass(frozen=True)
class Fit:
    gof: float
    converged: bool = False


@dataclass(frozen=True)
class Report:
    name: str
    fits: tuple[Fit, ...]


def test_a_document_becomes_its_type():
    assert read(Report, {"name": "a", "fits": [{"gof": 2}], "more": 1}, "the report") == Report("a", (Fit(2),))


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"fits": []}, "name"),
        ({"name": 1, "fits": []}, "name"),
        ({"name": "a", "fits": [{"gof": "2"}]}, "gof"),
        ([], ""),
    ],
)
def test_what_does_not_fit_is_named(data, named):
    with pytest.raises(ValueError, match=f"^the report: .*{named}"):
        read(Report, data, "the report")
