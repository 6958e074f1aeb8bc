"""P-strict and the opening of tiers, as the paper declares them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophron.agentbuild import curriculum
from sophron.records.documents import Document
from sophron.records.errors import UserError

THRESHOLDS = {"D1": 3, "T2": 2}


def document(tiers, held_out=(), cases="abcdx"):
    source = {"name": "files"}
    about = {name * 2: {"about": name, "source": source, "reference": f"references/{name}.yaml"} for name in cases}
    data = {"title": "t", "authors": ["a"], "cases": about, "tiers": tiers, "held_out": list(held_out)}
    return Document(data, Path("curriculum.yaml"))


LADDER = document(
    [{"name": "easy", "cases": ["aa"]}, {"name": "more", "cases": ["bb", "cc"]}, {"name": "hard", "cases": ["dd"]}],
    ["xx"],
)


def test_a_tier_opens_by_each_pass_and_none_closes():
    graded = curriculum.read(LADDER)
    opened = [graded.active(curriculum.tiers_open(graded, passed)) for passed in ([], [False], [False, True])]
    assert opened == [("aa",), ("aa",), ("aa", "bb", "cc")]
    passed = [True, False, True, False]
    assert graded.active(curriculum.tiers_open(graded, passed)) == ("aa", "bb", "cc", "dd")
    assert not curriculum.is_saturated(graded, passed)
    assert curriculum.is_saturated(graded, [*passed, True])


@given(
    st.dictionaries(
        st.sampled_from(["aa", "bb"]), st.fixed_dictionaries({"D1": st.integers(1, 5), "T2": st.integers(1, 5)})
    )
)
def test_p_strict_wants_every_threshold_of_every_active_case_at_once(scores):
    strict = curriculum.p_strict(scores, ["aa", "bb"], THRESHOLDS)
    assert strict == all(
        name in scores and all(scores[name][code] >= least for code, least in THRESHOLDS.items())
        for name in ("aa", "bb")
    )
    assert strict == (not curriculum.misses(scores, ["aa", "bb"], THRESHOLDS))


def test_a_missing_score_is_a_miss_and_no_case_is_no_pass():
    (miss,) = curriculum.misses({"aa": {"D1": 5}}, ["aa"], THRESHOLDS)
    assert miss == curriculum.Miss("aa", "T2", None, 2)
    assert not curriculum.p_strict({}, [], THRESHOLDS)


@pytest.mark.parametrize(
    ("tiers", "held_out", "sentence"),
    [
        ([{"name": "easy", "cases": ["zz"]}], (), 'there is no case "zz"'),
        ([{"name": "easy", "cases": ["aa", "bb", "cc", "dd"]}], ("aa", "xx"), "the case aa has a place already"),
        ([{"name": "easy", "cases": ["aa", "bb", "cc", "dd"]}], (), "is in no tier and not held out"),
    ],
)
def test_a_case_has_one_place(tiers, held_out, sentence):
    with pytest.raises(UserError, match=sentence):
        curriculum.read(document(tiers, held_out))
