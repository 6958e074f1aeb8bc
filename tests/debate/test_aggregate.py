from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sophron.debate.panel.votes import NO_CONFIDENCE, SCORES, Focus, Label, Mode, aggregate, panel_label
from sophron.records.digests import canonical_bytes
from sophron.records.documents import Document, schema, validate
from sophron.records.typed_json import to_json

from .panels import BRIEF, CONFIDENCES, EXPERTS, LABELS, REPUTATIONS, ROUNDS, STANDINGS, vote

EVEN = dict.fromkeys(EXPERTS, 0.5)


def weighed(votes, reputations=EVEN):
    return aggregate(Mode.PRE, [votes], reputations)


def panel(*votes):
    return dict(zip(EXPERTS, votes, strict=False))


def test_equation_6_by_hand():
    votes = panel(vote("pass", 0.9), vote("fail", 0.6), vote("uncertain", 0.3))
    critique = weighed(votes, {"analysis": 0.75, "force-field": 0.5, "sampling": 0.25})
    assert critique.weight == pytest.approx(0.75 * 0.9 + 0.5 * 0.6 + 0.25 * 0.3)
    assert critique.score == pytest.approx((0.75 * 0.9 + 0.5 * 0.25 * 0.3) / critique.weight)
    assert critique.label is Label.UNCERTAIN


@pytest.mark.parametrize(
    ("passing", "label"), [("0.7", "pass"), ("0.69", "uncertain"), ("0.31", "uncertain"), ("0.3", "fail")]
)
def test_both_thresholds_belong_to_their_label(passing, label):
    """As decimal numbers: 0.7 and 0.3 make a score of exactly 7/10, whatever binary fractions make of them."""
    against = float(1 - Fraction(passing))
    for reputation in (0.5, 2 / 3, 1 / 7):
        votes = {"a": vote("pass", float(passing)), "b": vote("fail", against)}
        assert weighed(votes, {"a": reputation, "b": reputation}).label == label


@BRIEF
@given(ROUNDS, STANDINGS, st.permutations(EXPERTS))
def test_the_order_of_experts_changes_no_byte(votes, reputations, order):
    turned = weighed({name: votes[name] for name in order}, {name: reputations[name] for name in reversed(order)})
    assert canonical_bytes(to_json(turned)) == canonical_bytes(to_json(weighed(votes, reputations)))


@BRIEF
@given(ROUNDS, STANDINGS)
def test_the_score_lies_between_the_labels_that_weigh(votes, reputations):
    critique = weighed(votes, reputations)
    heard = [SCORES[each.label] for each in votes.values() if each.confidence] or [SCORES[Label.UNCERTAIN]]
    assert min(heard) <= critique.score <= max(heard)
    validate(Document(to_json(critique), Path("critique.json")), "critique")


@BRIEF
@given(ROUNDS, STANDINGS, st.sampled_from(EXPERTS), LABELS)
def test_a_better_label_never_lowers_the_score(votes, reputations, expert, label):
    assume(SCORES[label] >= SCORES[votes[expert].label])
    changed = votes | {expert: replace(votes[expert], label=label)}
    assert weighed(changed, reputations).score >= weighed(votes, reputations).score


@BRIEF
@given(ROUNDS, STANDINGS, st.sampled_from(EXPERTS), CONFIDENCES)
def test_more_confidence_draws_the_score_to_the_label(votes, reputations, expert, confidence):
    assume(confidence >= votes[expert].confidence)
    assume(any(each.confidence for each in votes.values()))
    own = SCORES[votes[expert].label]
    changed = votes | {expert: replace(votes[expert], confidence=confidence)}
    before, after = weighed(votes, reputations).score, weighed(changed, reputations).score
    assert abs(after - own) <= abs(before - own) + 1e-15


@BRIEF
@given(ROUNDS, STANDINGS, st.sampled_from(EXPERTS), REPUTATIONS)
def test_more_reputation_draws_the_score_to_the_label(votes, reputations, expert, reputation):
    assume(reputation >= reputations[expert])
    assume(any(each.confidence for each in votes.values()))
    own = SCORES[votes[expert].label]
    before = weighed(votes, reputations).score
    after = weighed(votes, reputations | {expert: reputation}).score
    assert abs(after - own) <= abs(before - own) + 1e-15


@BRIEF
@given(ROUNDS, STANDINGS)
def test_a_vote_without_confidence_is_as_if_it_were_not_there(votes, reputations):
    silent = {name: replace(each, confidence=0.0) if name == "sampling" else each for name, each in votes.items()}
    others = {name: each for name, each in votes.items() if name != "sampling"}
    first, second = weighed(silent, reputations), weighed(others, reputations)
    assert (first.score, first.label, first.focus) == (second.score, second.label, second.focus)


@BRIEF
@given(LABELS, STANDINGS)
def test_a_panel_without_confidence_is_uncertain(label, reputations):
    concern = ("high", "analysis", "the sign")
    critique = weighed({name: vote(label, 0.0, concern) for name in EXPERTS}, reputations)
    assert (critique.label, critique.score, critique.weight) == (Label.UNCERTAIN, 0.5, 0.0)
    assert critique.focus is None
    assert critique.text.startswith(NO_CONFIDENCE)
    assert critique.text.count("the sign") == len(EXPERTS)


def test_the_smallest_confidence_still_counts():
    critique = weighed(panel(vote("fail", 5e-324), vote("pass", 0.0)))
    assert critique.label is Label.FAIL
    assert NO_CONFIDENCE not in critique.text


def test_the_most_reputed_expert_speaks_first():
    concerns = [("low", "analysis", "small"), ("high", "production", "great")]
    votes = panel(
        vote("pass", 0.9, insight="A"), vote("fail", 0.2, *concerns, insight="F"), vote("fail", 0.8, insight="S")
    )
    text = weighed(votes, {"analysis": 0.4, "force-field": 0.6, "sampling": 0.4}).text
    assert text == (
        "force-field (fail, confidence 0.2): F\n- high, production: great\n- low, analysis: small\n\n"
        "analysis (pass, confidence 0.9): A\n\nsampling (fail, confidence 0.8): S"
    )


def test_the_focus_is_where_weighted_severity_falls():
    overlap = ("high", "analysis", "no guard on the overlap of windows")
    charges = ("medium", "preparation", "charges")
    votes = panel(vote("fail", 0.9, overlap, overlap), vote("uncertain", 0.6, charges), vote("fail", 0.5, charges))
    assert weighed(votes).focus is Focus.ANALYSIS
    assert weighed(votes, EVEN | {"analysis": 0.1}).focus is Focus.PREPARATION
    assert weighed(panel(vote("pass"))).focus is None


def test_only_the_last_round_weighs_and_all_are_kept():
    first, last = panel(vote("fail"), vote("fail")), panel(vote("pass"), vote("pass"))
    critique = aggregate(Mode.POST_BENCHMARK, [first, last], EVEN)
    assert critique.score == 1
    assert critique.rounds == (first, last)
    assert [each["analysis"]["label"] for each in to_json(critique)["rounds"]] == ["fail", "pass"]


@pytest.mark.parametrize("rounds", [[], [{}], [panel(vote("pass")), {}]])
def test_a_panel_that_did_not_vote_is_none(rounds):
    with pytest.raises(ValueError, match="at least one vote"):
        aggregate(Mode.PRE, rounds, EVEN)


@pytest.mark.parametrize("reputations", [{}, {"analysis": 0.0}, {"analysis": -1.0}, {"analysis": float("nan")}])
def test_a_reputation_of_nothing_is_refused(reputations):
    with pytest.raises(ValueError, match="analysis needs a reputation"):
        weighed(panel(vote("pass")), reputations)


def test_a_confidence_out_of_range_is_refused():
    with pytest.raises(ValueError, match="the confidence of analysis"):
        weighed(panel(vote("pass", 1.5)))


def test_labels_of_scores():
    assert [panel_label(Fraction(each, 10)) for each in (0, 3, 4, 6, 7, 10)] == [
        "fail",
        "fail",
        "uncertain",
        "uncertain",
        "pass",
        "pass",
    ]


def test_the_words_of_the_schema_are_those_of_the_library():
    content = schema("critique")
    assert content["$defs"]["mode"]["enum"] == list(Mode)
    assert content["$defs"]["label"]["enum"] == list(Label)
    assert content["properties"]["focus"]["enum"] == [*Focus, None]
