"""Works beside an answer: each once, in the form of their schema."""

import json

import pytest

from sophron.agents.step import cited_works
from sophron.records.errors import UserError

A, B = {"doi": "10.1000/a", "about": "A"}, {"doi": "10.1000/b", "about": "B"}


def test_works_come_back_each_once_in_their_order(tmp_path):
    path = cited_works.write([B, A, {"doi": "10.1000/B", "about": "B again"}], tmp_path)
    assert cited_works.read({cited_works.ROLE: path}) == [B, A]
    assert cited_works.read({}) == []


@pytest.mark.parametrize("works", [["10.1000/a"], [{"doi": "a"}], [{**A, "note": "?"}], list("abc")])
def test_what_is_no_list_of_works_is_refused(tmp_path, works):
    with pytest.raises(UserError, match=r"found_works\.json"):
        cited_works.write(works, tmp_path)
    (tmp_path / "found_works.json").write_text(json.dumps({"works": works}))
    with pytest.raises(UserError, match=r"found_works\.json"):
        cited_works.read({cited_works.ROLE: tmp_path / "found_works.json"})
