"""Rendering: typed values only, and nothing left out."""

import math

import pytest
from jinja2 import UndefinedError

from sophron.science.lammps.render import FileName, FreeText, Word, render


@pytest.fixture
def template(tmp_path):
    path = tmp_path / "one.in.j2"
    path.write_text("run {{ value }}\n")
    return path


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (0.1, "0.1"),
        (1e-300, "1e-300"),
        (2 ** (1 / 6), "1.122462048309373"),
        (Word("nvt/sllod"), "nvt/sllod"),
        (FileName("run.0.a.restart"), "run.0.a.restart"),
        (FreeText(("a", "b")), "a\nb"),
    ],
)
def test_typed_values_are_written_out(template, value, text):
    assert render(template, {"value": value}) == f"run {text}\n"


@pytest.mark.parametrize("value", ["5", "0\nshell ls", None, True, [1], {"a": 1}, b"5"])
def test_other_types_are_refused(template, value):
    with pytest.raises(TypeError, match="cannot stand in a LAMMPS input"):
        render(template, {"value": value})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_are_refused(template, value):
    with pytest.raises(ValueError, match="finite"):
        render(template, {"value": value})


def test_a_missing_value_is_an_error(template):
    with pytest.raises(UndefinedError):
        render(template, {})


@pytest.mark.parametrize("text", ["", "a b", "a\n", "a;b", "${x}", "1a", "a/", "/a", "nvt//sllod"])
def test_words_are_words(text):
    with pytest.raises(ValueError, match="not a LAMMPS word"):
        Word(text)


@pytest.mark.parametrize(
    "text", ["", "/etc/passwd", "../a", "a/b", ".hidden", "a b", "a\n", "a*", "a.gz", "a.dat.zst", "a;b"]
)
def test_file_names_stay_in_the_work_folder(text):
    with pytest.raises(ValueError, match="not a plain file name"):
        FileName(text)
