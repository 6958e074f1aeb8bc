"""The bibliography as a tool of an agent."""

import pytest

from sophron.agents.tools import literature
from sophron.agents.tools.toolbox import Toolbox
from sophron.interfaces.model_backend import ToolCall
from sophron.sandbox.bubblewrap import Bubblewrap


@pytest.fixture
def box(tmp_path):
    return Toolbox(tmp_path, {}, Bubblewrap(), ["literature"])


def ask(box, **arguments):
    answer = box.call(ToolCall("c1", "literature", arguments))
    return answer.content[0].text, answer.is_error


@pytest.mark.parametrize("query", ["multistate Bennett acceptance ratio", "what does 10.1063/1.2978177 say?"])
def test_words_and_a_doi_find_a_note(box, query):
    text, failed = ask(box, query=query)
    assert not failed
    assert text.startswith("10.1063/1.2978177: ")
    assert literature.unresolved(text, literature.load()) == []


def test_at_most_eight_notes_are_given(box):
    assert len(literature.load()) > literature.MOST
    assert ask(box, query="free energy binding host guest water")[0].count("\n\n") == literature.MOST - 1


def test_no_shared_word_is_said_and_is_no_error(box):
    assert ask(box, query="xylophone") == ("[no note shares a word]", False)


def test_a_query_of_another_form_is_refused(box):
    assert ask(box, topic="mbar")[1]
