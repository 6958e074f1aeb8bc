"""What is shown to people: nothing hides, forges or reorders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophron.campaign.rendering import display_text


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
        ("tags \U000e0041\U000e0042", "tags"),
        ("blank\u3164letters\u2800\u115f\ufe0f", "blankletters"),
        ("lone \ud800 surrogate", "lone surrogate"),
        ("a" + "\u0301" * 50, "a" + "\u0301" * 3),
        ("two\u2028lines\u2029here\x85now", "two lines here now"),
    ],
)
def test_text(raw, seen):
    assert display_text.text(raw) == seen


@given(st.text())
def test_text_is_one_printable_line_whatever_comes_in(raw):
    seen = display_text.text(raw)
    assert seen == display_text.text(seen)
    assert all(sign.isprintable() or sign == " " for sign in seen.replace("\u00a0", " "))
    assert len(seen.splitlines()) <= 1


def test_lines_keep_their_indent_and_nothing_else_hidden():
    assert display_text.lines("run 5\n  fix\x1b[31m 1\r\n\tx\u202e") == ["run 5", "  fix 1", "    x"]


def test_hidden_characters_are_noticed_and_ordinary_layout_is_not():
    assert not display_text.hides({"a": ["two\nlines", {"b": 3.5}], "c": None})
    assert display_text.hides({"a": [{"b": "in\u200bvisible"}]})
    assert display_text.hides({"ke\u202ey": 1})


def test_flat_goes_into_mappings_and_lists_of_mappings():
    block = {"model": {"bonds": {"k": 30.0}, "none": {}}, "rates": [0.1, 0.2], "parts": [{"x": 1}, {"x": True}]}
    assert list(display_text.flat(block)) == [
        ("model.bonds.k", 30.0), ("model.none", {}), ("rates", [0.1, 0.2]), ("parts.0.x", 1), ("parts.1.x", True),
    ]  # fmt: skip
    assert display_text.plain([0.1, "a\u202e"]) == '[0.1, "a"]'
    assert display_text.plain(False) == "false"


def test_numbers_and_hours():
    assert [display_text.number(value) for value in (3.21349, 12, 1.5e-7)] == ["3.213", "12", "1.5e-07"]
    assert [display_text.hours(value) for value in (0.0, 0.0033, 0.25, 1234.5)] == [
        "0.00",
        "< 0.01",
        "0.25",
        "1,234.50",
    ]
