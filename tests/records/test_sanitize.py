"""A stranger's text: nothing hides, forges or reorders, whoever prints, logs or hands it on."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophron.agents.rule_based import input_checks
from sophron.agents.tools import literature_web
from sophron.campaign.planning import plan_documents
from sophron.campaign.rendering import formatting, html
from sophron.campaign.state import campaign_state
from sophron.records import errors, sanitize
from sophron.science.lammps import input_checker


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("plain words, 3.14 µm", "plain words, 3.14 µm"),
        ("\x1b[2J\x1b[1;1Happroved", "approved"),
        ("\x1b]8;;http://example.org\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\x", "x"),
        ("\x9b31mred", "red"),
        ("\x1bcreset", "reset"),
        ("over\rwritten\nlines\tand tabs", "over written lines and tabs"),
        ("bell\x07 back\x08space \x7f", "bell backspace"),
        ("\u202e0001\u202c \u2066x\u2069 \u200f\u061cy", "0001 x y"),
        ("zero\u200bwidth\u200d\u2060\ufeff\u00ad", "zerowidth"),
        ("variant\ufe07\U000e0100 \u17b4selectors", "variant selectors"),
        ("tags \U000e0041\U000e0042", "tags"),
        ("blank\u3164letters\u2800\u115f\ufe0f", "blankletters"),
        ("lone \ud800 surrogate", "lone surrogate"),
        ("a" + "\u0301" * 50, "a" + "\u0301" * 3),
        ("two\u2028lines\u2029here\x85now", "two lines here now"),
    ],
)
def test_text(raw, seen):
    assert sanitize.one_line(raw) == seen


@given(st.text())
def test_text_is_one_printable_line_whatever_comes_in(raw):
    seen = sanitize.one_line(raw)
    assert seen == sanitize.one_line(seen)
    assert all(sign.isprintable() or sign == " " for sign in seen.replace("\u00a0", " "))
    assert len(seen.splitlines()) <= 1


def test_lines_keep_their_indent_and_nothing_else_hidden():
    assert sanitize.lines("run 5\n  fix\x1b[31m 1\r\n\tx\u202e") == ["run 5", "  fix 1", "    x"]


def test_hidden_characters_are_noticed_and_ordinary_layout_is_not():
    assert not sanitize.hides({"a": ["two\nlines", {"b": 3.5}], "c": None})
    assert sanitize.hides({"a": [{"b": "in\u200bvisible"}]})
    assert sanitize.hides({"ke\u202ey": 1})


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("naïve, 3.14 µm", "naïve, 3.14 µm"),
        ("b\x1b[2J", "b\\x1b[2J"),
        ("two\nlines\u2028here", "two\\nlines\\u2028here"),
        ("al\u202eex\u3164 \ufe0f", "al\\u202eex\\u3164 \\ufe0f"),
        ("no\u00a0break", "no\\xa0break"),
        ("a" + "\u0301" * 4, "a" + "\u0301" * 3 + "\\u0301"),
    ],
)
def test_escape_shows_what_one_line_drops(raw, seen):
    assert sanitize.escape(raw) == seen


def test_a_bound_holds_and_what_was_cut_is_said():
    assert sanitize.one_line("x" * 50, 10) == "xxxxxxx..."
    assert sanitize.escape("\x00" * 50, 10) == "\\x00\\x0..."
    assert sanitize.escape_lines("one\r\n\ttwo\rthree\u00a0!", 12) == "one\n\ttwo\\rth\n[cut: 5 more characters]"


NASTY = st.text(
    st.one_of(
        st.sampled_from("\x1b\x9b[]2J;m\x07\r\n\t\v\x85\u2028\u202e\u200b\ufeff\u0301\u3164\ufe0f\U000e0041\ud800"),
        st.characters(),
    )
)
ONE_LINE = {
    "one_line": sanitize.one_line,
    "escape": sanitize.escape,
    "sentence of an error": errors.shown,
    "line of progress.log": campaign_state.plain,
    "quote of a rule-based answer": input_checks.quoted,
    "JSON value": formatting.plain,
    "HTML": html._cleaned,
    "Markdown of a plan": plan_documents._line,
    "finding in an input": input_checker._shown,
}  # fmt: skip
MANY_LINES = {
    "lines": lambda raw: "\n".join(sanitize.lines(raw)),
    "escape_lines": lambda raw: sanitize.escape_lines(raw, 100),
    "literature": lambda raw: literature_web._text(raw, 100),
}


@pytest.mark.parametrize("caller", ONE_LINE)
@settings(max_examples=50)
@given(raw=NASTY)
def test_every_caller_gives_one_line_that_hides_nothing(caller, raw):
    seen = ONE_LINE[caller](raw)
    assert len(seen.splitlines()) <= 1
    assert not sanitize.hides(seen)
    assert seen.isprintable()


@pytest.mark.parametrize("caller", MANY_LINES)
@settings(max_examples=50)
@given(raw=NASTY)
def test_every_caller_gives_lines_that_hide_nothing(caller, raw):
    seen = MANY_LINES[caller](raw)
    assert not sanitize.hides(seen)
    assert all(sign.isprintable() or sign in "\n\t" or unicodedata.category(sign) == "Zs" for sign in seen)
