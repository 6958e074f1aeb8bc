"""`sophron ask` with a model: each quotation is looked up on its page, each command in what was read."""

import json

import pytest
import toy
from loopback_anthropic import serve_anthropic
from loopback_peer import Turn, queue

from sophron import cli
from sophron.agents.step import conversation

PASSAGES = [
    {
        "page": "docs/how-to/sign.md",
        "heading": "Sign",
        "text": "Draft the change with\n`sophron amend --set KEY=VALUE`, then sign it: `sophron approve`.",
    }
]
INPUTS = {"question": "how do I change a value?", "passages": PASSAGES}
QUOTE = {"page": "docs/how-to/sign.md", "quote": "Draft the change with `sophron amend --set KEY=VALUE`"}


def against(text="Draft it: `sophron amend --set a=1`.", **cited):
    answer = {"status": "answered", "text": text, "citations": [QUOTE | cited], "suspicious_text": []}
    return conversation.guardrail_faults("ask", INPUTS, answer)


def test_words_of_the_page_stand():
    assert against() == []


@pytest.mark.parametrize(
    ("cited", "message"),
    [
        ({"quote": "Draft the change by `sophron amend`"}, "does not stand in the passages of docs/how-to/sign.md"),
        ({"page": "docs/how-to/other.md"}, "does not stand in the passages of docs/how-to/other.md"),
    ],
)
def test_a_quotation_that_is_not_there_is_refused(cited, message):
    (fault,) = against(**cited)
    assert message in fault


@pytest.mark.parametrize(
    "text", ["`sophron approve --force` does it", "use `sophron change`", "sophron revise my-melt"]
)
def test_a_command_that_nobody_read_is_refused(text):
    (fault,) = against(text)
    assert "stands in no passage" in fault


@pytest.mark.parametrize(
    "text", ["sophron amend my-melt, then `sophron approve`", "a well--known dash", "Sophron signs"]
)
def test_what_was_read_may_be_said(text):
    assert against(text) == []


@pytest.fixture
def asked(tmp_path, monkeypatch):
    pytest.importorskip("anthropic")
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "loopback-no-real-key")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def serve(*answers):
        return serve_anthropic(queue(*(Turn(json.dumps(one | {"suspicious_text": []})) for one in answers)))

    return serve


def test_an_answer_has_its_quotation_and_the_same_question_is_asked_once(asked, monkeypatch, capsys):
    page = "docs/how-to/sign-and-amend.md"
    made_up = {"status": "answered", "text": "By force.", "citations": [{"page": page, "quote": "force it through"}]}
    right = {"status": "answered", "text": "You draft it.", "citations": [{"page": page, "quote": "sophron amend"}]}
    question = "how do I change a signed value with sophron amend?"
    with asked(made_up, right) as peer:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
        assert cli.main(["ask", "--agents", "anthropic", question]) == 0
        said = capsys.readouterr()
        assert f'You draft it.\n\n  {page}: "sophron amend"' in said.out
        assert "as agent ask" in said.err
        assert "By force" not in said.out
        assert cli.main(["ask", "--agents", "anthropic", question]) == 0
        assert "You draft it." in capsys.readouterr().out
        assert len([one for one in peer.seen if "count_tokens" not in one.path]) == 2


def test_what_is_absent_is_said_with_exit_code_1(asked, monkeypatch, capsys):
    with asked({"status": "absent", "text": "The documentation does not say.", "citations": []}) as peer:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
        assert cli.main(["ask", "--agents", "anthropic", "may I run it on the moon?"]) == 1
    assert "The documentation does not say." in capsys.readouterr().out


def test_rules_of_thumb_are_the_search(capsys):
    assert cli.main(["ask", "--agents", "heuristic", "--most", "1", "run on PBS"]) == 0
    assert capsys.readouterr().out.startswith("docs/how-to/pbs.md")
