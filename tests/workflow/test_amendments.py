"""Random amendments: what a dry run shows and what then runs is the closure of what changed, every time.

A few examples; bench/random_amendments.py runs two hundred.
"""

import itertools
import json

import pytest
import random_amendments
import toy
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import example as also
from random_amendments import Round

SCALED = {"stages.f.definition.scale": -1.5}
JUDGED = {"stages.d.definition.offset": 1, "stages.f.criteria.files.expression": random_amendments.FAILING}
SIGNED_TWICE = [Round(SCALED, withdraw=False, run=False), Round(SCALED, withdraw=False, run=True)]
WITHDRAWN_UNTRIED = [Round(JUDGED, withdraw=False, run=False), Round(JUDGED, withdraw=True, run=True)]
"""What a run of two hundred once found in this model: a repeated change, and verdicts that were moved aside."""
RENAMED = [
    Round(SCALED, withdraw=False, run=False, shape=frozenset("eg"), apart=True),
    Round({}, withdraw=True, run=True),
]
ADDED = [
    Round({"stages.g.definition.scale": 2.5}, withdraw=False, run=False, shape=frozenset("eg")),
    Round({"seed": 9}, withdraw=False, run=True, shape=frozenset(), apart=True, before={"seed": 8}),
]


@pytest.mark.slow
def test_exactly_the_amended_stages_and_their_descendants_run_again(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    monkeypatch.setattr(toy, "BASICS", [*toy.BASICS, "--quiet", "all"])
    finished = toy.campaign(tmp_path, monkeypatch)
    model = random_amendments.baseline(finished)
    numbers = itertools.count()
    signed = []

    @seed(2026)
    @settings(
        max_examples=4,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],  # an example takes seconds: shrinking one would take minutes
        suppress_health_check=list(HealthCheck),
    )
    @given(random_amendments.ROUNDS)
    @also(SIGNED_TWICE)
    @also(WITHDRAWN_UNTRIED)
    @also(RENAMED)
    @also(ADDED)
    def example(rounds):
        copy = random_amendments.duplicate(finished, tmp_path / str(next(numbers)))
        signed.extend(random_amendments.check(copy, model.copy(), rounds))

    example()
    assert len(signed) >= 6


@pytest.mark.parametrize("stage", ["f", "g"])
def test_an_optional_stage_that_nothing_takes_the_place_of_comes_back_as_it_was_at_first(stage):
    first = {
        f"stages.{name}.criteria.files.{key}": text
        for name in "abcdef"
        for key, text in [("expression", random_amendments.PASSING), ("statement", "Its file is there.")]
    }
    model = random_amendments.Model({key: text for key, text in first.items() if key[7] in "abcd"}, blank=first)

    (part,) = random_amendments.parts(Round({}, withdraw=False, run=True, shape=frozenset({"e", stage})), model)

    _, _, added = part.written[-1].partition("=")
    criterion = {"id": "files", "expression": random_amendments.PASSING, "statement": "Its file is there."}
    assert json.loads(added)["criteria"] == [criterion]
    assert stage in random_amendments.present(part.after)
