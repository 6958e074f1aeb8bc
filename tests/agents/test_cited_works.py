"""Works beside an answer: each once, in the form of their schema."""

import json

import pytest

from sophron.agents.documents.answers import CITED_ROLE
from sophron.agents.tools import literature
from sophron.agents.tools.literature import CitedWork
from sophron.records.errors import UserError

A, B = CitedWork("10.1000/a", "A"), CitedWork("10.1000/b", "B")


def test_works_come_back_each_once_in_their_order(tmp_path):
    path = literature.write_cited([B, A, CitedWork("10.1000/B", "B again")], tmp_path)
    assert literature.read_cited({CITED_ROLE: path}) == [B, A]
    assert literature.read_cited({}) == []


@pytest.mark.parametrize(
    "works", [["10.1000/a"], [{"doi": "a"}], [{"doi": "10.1000/a", "about": "A", "note": "?"}], list("abc")]
)
def test_what_is_no_list_of_works_is_refused(tmp_path, works):
    with pytest.raises(UserError, match=r"found_works\.json"):
        literature.write_cited(works, tmp_path)
    (tmp_path / "found_works.json").write_text(json.dumps({"works": works}))
    with pytest.raises(UserError, match=r"found_works\.json"):
        literature.read_cited({CITED_ROLE: tmp_path / "found_works.json"})
