from pathlib import Path

import pytest
from hypothesis import given

from sophron.debate.panel.votes import Focus, Label, Severity, Vote
from sophron.records.documents import Document, schema, validate
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json

from .panels import BRIEF, VOTES

FILE = Path("vote.json")
GOOD = {
    "label": "fail",
    "confidence": 0.8,
    "strategic_insight": "the release has the wrong sign",
    "concerns": [{"severity": "high", "focus": "analysis", "text": "the sign of the release"}],
    "reasoning": "it is off by twice the release.",
}


@BRIEF
@given(VOTES)
def test_a_vote_is_read_as_it_was_written(vote):
    answer = to_json(vote)
    validate(Document(answer, FILE), "agents/vote")
    assert Vote.read(answer, FILE) == vote


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"confidence": 1.2}, "confidence"),
        ({"confidence": -0.1}, "confidence"),
        ({"label": "Pass"}, "label"),
        ({"strategic_insight": ""}, "strategic_insight"),
        ({"score": 1}, "score"),
        ({"concerns": [{"severity": "dire", "focus": "analysis", "text": "x"}]}, r"concerns\[0\].severity"),
        ({"concerns": [{"severity": "low", "focus": "docking", "text": "x"}]}, r"concerns\[0\].focus"),
    ],
)
def test_another_form_is_refused_with_its_key(change, key):
    with pytest.raises(UserError, match=rf"^vote\.json: {key}: "):
        Vote.read(GOOD | change, FILE)


def test_a_missing_part_is_named():
    with pytest.raises(UserError, match='"reasoning" is missing'):
        Vote.read({key: value for key, value in GOOD.items() if key != "reasoning"}, FILE)


def test_the_words_of_the_schema_are_those_of_the_library():
    properties = schema("agents/vote")["properties"]
    concern = properties["concerns"]["items"]["properties"]
    assert properties["label"]["enum"] == list(Label)
    assert concern["severity"]["enum"] == list(Severity)
    assert concern["focus"]["enum"] == list(Focus)
