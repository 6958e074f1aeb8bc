"""The judge: what is computed, what is asked, how both become one score, and what never reaches the scoring pass."""

import copy
from dataclasses import replace

import pytest
import refinements

from sophron.agentbuild import judge, rubric
from sophron.agentbuild.rubric import Checked, grave, minor, score
from sophron.records.documents import Document, load_yaml, validate
from sophron.records.errors import UserError
from sophron.records.files import resource
from sophron.records.typed_json import to_json

RUBRIC = rubric.read(load_yaml(resource("contracts", "rietveld-snr", "rubric.yaml")))


def says(level, other=None):
    """Stands for a scoring judge with one opinion, or two that alternate."""

    def asked(repeat):
        given = level if other is None or repeat % 2 else other
        return judge.Scoring(tuple(judge.Opinion(given, "call 3", one.code) for one in RUBRIC.asked))

    return asked


def lets_through(_):
    """Stands for a screening judge without objections."""
    return judge.Screening(passed=True)


def judged(*words):
    """A scorecard as it is written down."""
    return to_json(judge.judge(*words))


def scores(card):
    """Dimension -> score."""
    return {one["code"]: one["score"] for one in card["dimensions"]}


def test_a_sound_run_has_no_computed_fault():
    found = to_json(judge.computed(refinements.run(), RUBRIC))
    assert {code: one["faults"] for code, one in found.items() if one["faults"]} == {}
    assert {one["score"] for one in found.values()} == {5}
    assert set(found) == {"D1", "D2", "D3", "D4", "D5", "D6", "T1", "T2", "T3", "T4", "T5"}


def test_a_check_without_its_parameter_is_one_sentence():
    spoilt = [replace(one, parameters={}) for one in RUBRIC.dimensions]
    with pytest.raises(UserError, match="D1: the check phase_identity lacks the parameter or part 'significance'"):
        judge.computed(refinements.run(), replace(RUBRIC, dimensions=tuple(spoilt)))


def test_a_card_fits_its_schema_and_keeps_every_answer(tmp_path):
    card = judged(refinements.run(), RUBRIC, lets_through, says(4, 2))
    validate(Document(card, tmp_path), "build/scorecard")
    asked = {one["code"]: one for one in card["dimensions"] if one["asked"]}
    assert set(asked) == {one.code for one in RUBRIC.asked}
    for one in asked.values():
        assert [each["score"] for each in one["asked"]] == [4, 2]
        assert (one["score"], one["disagreement"]) == (2, 2)


def test_the_lowest_opinion_counts():
    card = judged(refinements.run(), RUBRIC, lets_through, says(1))
    missed = {one["code"] for one in card["dimensions"] if not one["passed"]}
    assert missed == {one.code for one in RUBRIC.asked}
    assert scores(card)["D1"] == 5  # computed alone: nobody was asked


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        ({"failure": "the engine died"}, "the engine died"),
        ({"report": None}, "no report"),
        ({"trajectory": None}, "no trajectory"),
        ({"report": {"summary": "all well"}}, "is missing"),
    ],
)
def test_nobody_is_asked_about_a_run_that_cannot_be_scored(spoilt, reason):
    def never(*_):
        raise AssertionError("asked")

    card = judged(replace(refinements.run(), **spoilt), RUBRIC, never, never)
    assert card["screening"]["by"] == "program"
    assert reason in " ".join(card["screening"]["reasons"])
    assert set(scores(card).values()) == {1}
    assert not card["passed"]


def test_the_screening_judge_may_stop_a_run():
    def never(*_):
        raise AssertionError("asked")

    card = judged(refinements.run(), RUBRIC, lambda _: judge.Screening(passed=False, reasons=("a placeholder",)), never)
    assert (card["screening"]["by"], card["passed"]) == ("judge", False)


def test_answers_that_leave_out_or_add_a_dimension_are_refused():
    answer = says(3)(1)
    assert judge.faults(answer, RUBRIC) == []
    assert "each once" in judge.faults(judge.Scoring(answer.scores[1:]), RUBRIC)[0]
    assert "each once" in judge.faults(judge.Scoring((*answer.scores, answer.scores[0])), RUBRIC)[0]
    assert "the scale is 1 to 5" in judge.faults(says(9)(1), RUBRIC)[0]


@pytest.mark.parametrize(
    ("faults", "wanted"),
    [([], 5), ([minor("a", "a")], 4), ([minor("a", "a")] * 9, 2), ([minor("a", "a"), grave("b", "b")], 1)],
)
def test_minor_faults_cost_points_and_grave_ones_everything(faults, wanted):
    assert score([Checked(tuple(faults), "")], 1, 5) == wanted


def trap(claimed, *, fit=True, tried=True, alternatives=("another form of it",)):
    """A run whose phase does not explain the pattern: its fit, or none, and what the report claims of it."""
    reference = copy.deepcopy(refinements.REFERENCE) | {"explained": False}
    reference["phases"][0] = {"name": refinements.PHASE, "amount": "major", "claim": "no"}
    reference["fit"]["rwp_percent"] = {refinements.ENGINE: [5.0, 100.0]}
    story = refinements.sound_story()
    if not fit:
        story = refinements.Story()
        story.reach(None, None, 0)
        if tried:
            story.refine(("scale", "background"), 0.0, 0, ended="diverged")
            story.decide("the cycle diverged: nothing of it is kept, the structure does not come to the pattern")
    report = refinements.sound_report(story)
    report["phases"][0]["claimed"] = claimed
    report["alternatives"] = list(alternatives)
    if not fit:
        report |= {"fit": None, "converged": False, "refined": {"count": 0, "groups": [], "parameters": []}}
        report["phases"][0] |= {"in_model": False, "weight_fraction": None, "significance": None, "cell": {}}
    return refinements.run(report, story, reference)


def failed(run):
    return {code: one["faults"] for code, one in to_json(judge.computed(run, RUBRIC)).items() if one["score"] < 3}


def test_a_fit_of_the_wrong_phase_passes_unclaimed_and_fails_claimed():
    assert failed(trap(claimed=False)) == {}
    (fault,) = failed(trap(claimed=True))["D1"]
    assert (fault["code"], fault["about"]["role"]) == ("phase_overclaimed", "main")


def test_where_nothing_explains_the_pattern_no_fit_is_asked_for_but_a_try_is():
    """Plots apart, which nobody can be shown without a fit."""
    assert set(failed(trap(claimed=False, fit=False))) == {"D6", "T5"}
    assert "T1" in failed(trap(claimed=False, fit=False, tried=False))
    assert "D1" in failed(trap(claimed=True, fit=False))


def test_whoever_claims_nothing_says_what_else_it_may_be():
    assert "unexplained_untold" in [one["code"] for one in failed(trap(claimed=False, alternatives=()))["D5"]]


def test_one_range_may_look_the_same_in_two_states():
    story = refinements.sound_story()
    report = refinements.sound_report(story)
    for one in report["plots"]:
        if one["whole"]:
            one["reading"] = "the differences spread by 1.12 esd, as counting statistics want"
    assert judge.computed(refinements.run(report, story), RUBRIC)["D6"].faults == ()
