"""The meta-optimizer's rule of thumb: from the judge's faults to an edit, with nothing of any sample in it."""

import inspect
from pathlib import Path

import pytest
from agent_inputs import fitting

from sophron.agents.rule_based import optimize
from sophron.agents.rule_based.optimize import Fault, edited
from sophron.records import documents
from sophron.records.strict_yaml import parse
from sophron.records.typed_json import from_json

EMPTY = "# What the agent knows; the build writes it.\n{}\n"


def fault(code, **about):
    return {"code": code, "gravity": "grave", "evidence": code, "about": about}


def card(case, counts=None, **missed):
    """A scorecard that misses dimensions by faults."""
    dimensions = []
    for code in ("D1", "D3", "D6", "T2", "T5"):
        numbers = {"counts": counts} if counts and code == "T2" else {}
        computed = {"score": 1, "faults": missed.get(code, []), "looked_at": [], "numbers": numbers}
        dimensions.append({"code": code, "passed": code not in missed, "computed": computed})
    return {"case": case, "dimensions": dimensions}


def proposed(cards, recipe=EMPTY, history=()):
    told = {"agent": {"recipe.yaml": recipe}, "scorecards": cards, "history": list(history)}
    return fitting(optimize.answer(told), "optimize")


def after(recipe, codes, counts=None):
    """A recipe after edits; it fits the schema of recipes."""
    plain = {"code": "", "case": ""}
    faults = {code: [from_json(Fault, plain | about) for about in each] for code, each in codes.items()}
    made = edited(recipe, faults, counts or {})
    documents.validate(documents.Document(made, Path("recipe")), "rietveld/refine", "recipe")
    return made


def groups(recipe):
    return [rung["groups"] for rung in recipe["rungs"]]


def test_the_dimension_missed_in_most_cases_is_cured_first_and_alone():
    few = fault("plot_windows_few", wanted=3)
    short = fault("freed_short", group="cell", counts=1e6)
    said = proposed([card("a", T2=[short], T5=[few]), card("b", T5=[few])])
    assert said["targets"] == ["T5"]
    assert "+plots:" in said["diff"]
    assert "cell" not in said["diff"]


def test_the_way_comes_before_its_result():
    said = proposed([card("a", D3=[fault("fit_beyond")], T2=[fault("freed_short", group="cell")])])
    assert said["targets"] == ["T2"]


def test_an_edit_that_was_tried_is_passed_over_and_nothing_is_left_to_say():
    cards = [card("a", T5=[fault("plot_windows_few", wanted=2)])]
    first = proposed(cards)
    again = proposed(cards, history=[{"diff": first["diff"]}])
    assert (again["diff"], again["targets"]) == ("", [])


def test_a_fault_without_an_edit_says_so():
    assert proposed([card("a", D6=[fault("speaks_to_the_judge")])])["diff"] == ""


def test_the_diff_turns_one_recipe_into_a_valid_other():
    said = proposed([card("a", T2=[fault("freed_short", group="cell"), fault("freed_short", group="u_iso")])])
    added = "".join(line[1:] + "\n" for line in said["diff"].splitlines()[3:] if line.startswith("+"))
    data, _ = parse(added.encode(), "recipe.yaml")
    assert groups(data) == [["scale", "background"], ["cell"], ["u_iso"]]


def test_groups_stand_in_the_order_in_which_anything_is_freed():
    missed = [{"group": name} for name in ("u_iso", "size", "cell", "displacement")]
    made = after({}, {"freed_short": missed})
    assert groups(made) == [["scale", "background"], ["cell"], ["displacement"], ["size"], ["u_iso"]]


def test_what_was_too_much_is_held_up_to_the_least_counts_at_which_it_was_none():
    recipe = {"rungs": [{"name": "all", "groups": ["scale", "background"]}, {"name": "w", "groups": ["strain"]}]}
    beyond = [{"group": "strain", "counts": 6.2e4, "case": "a"}]
    counts = {"a": 6.2e4, "b": 1.285e6, "c": 1.0e7}
    assert after(recipe, {"freed_beyond": beyond}, counts)["rungs"][1]["least_counts"] == 1.28e6
    assert after(recipe, {"freed_beyond": beyond}, {"a": 6.2e4})["rungs"][1]["least_counts"] == pytest.approx(7.75e4)
    nobody_knows = after(recipe, {"freed_beyond": [{"group": "strain", "counts": None}]}, counts)
    assert groups(nobody_knows) == [["scale", "background"]]


def test_what_was_missed_needs_fewer_counts():
    recipe = {"rungs": [{"name": "w", "groups": ["size"], "least_counts": 2e6}]}
    made = after(recipe, {"freed_short": [{"group": "size", "counts": 1e6}]})
    assert made["rungs"][0]["least_counts"] == 9e5


def test_weights_come_from_calculated_counts_where_observed_ones_were_a_fault():
    made = after({}, {"weights": [{"counts": 6e4, "case": "a"}]}, {"a": 6e4, "b": 1.3e6})
    assert made["calculated_weights_below_counts"] == 1.3e6


def test_candidates_are_tested_and_a_claim_that_was_too_much_needs_more():
    made = after({}, {"phase_missed": [{"phase": "x", "code": "phase_missed"}]})
    assert made["candidates"] == {"claim_significance": 5.0, "absent_below": 3.0}
    stricter = after(made, {"phase_overclaimed": [{"phase": "x", "code": "phase_overclaimed"}]})
    assert stricter["candidates"]["claim_significance"] == 6.25


def test_a_main_phase_claimed_for_nothing_gets_bounds_and_candidates_keep_theirs():
    fault_of_main = {"phase": "x", "role": "main", "code": "phase_overclaimed"}
    made = after({}, {"phase_overclaimed": [fault_of_main]})
    assert made["explains"] == {"misfit_percent": 20.0, "cell_percent": 0.5}
    assert "candidates" not in made
    stricter = after(made, {"phase_overclaimed": [fault_of_main]})
    assert stricter["explains"] == {"misfit_percent": 18.0, "cell_percent": 0.45}
    looser = after(made, {"phase_missed": [fault_of_main | {"code": "phase_missed"}]})
    assert looser["explains"] == {"misfit_percent": 25.0, "cell_percent": 0.625}


def test_recovery_is_added_and_then_tried_harder():
    made = after({}, {"failure_repeated": [{}]})
    assert made["recovery"] == {"tries": 4, "correlation": 0.98}
    assert after(made, {"failure_repeated": [{}]})["recovery"]["tries"] == 8


def test_an_order_that_was_wrong_is_put_right():
    recipe = {"rungs": [{"name": "a", "groups": ["scale", "u_iso"]}, {"name": "b", "groups": ["cell"]}]}
    assert groups(after(recipe, {"released_early": [{}]})) == [["scale"], ["cell"], ["u_iso"]]


def test_every_edit_gives_a_recipe_that_fits_its_schema():
    recipe = after({}, {"freed_short": [{"group": "cell"}], "plots_absent": [{}], "failure_kept": [{}]})
    for code in optimize.EDITS:
        after(recipe, {code: [{"group": "cell", "counts": 1e5, "wanted": 2, "code": code, "case": "a"}]}, {"a": 1e5})


def test_nothing_of_a_sample_stands_in_the_rule():
    text = "".join(map(inspect.getsource, (optimize, optimize))).casefold()
    for name in ("llzo", "fap", "apatite", "pbso4", "sulphate", "la2zr2o7", "garnet", "12.9"):
        assert name not in text
