"""Templates: no name is silently empty, HTML is escaped, nothing else is."""

import ast
from pathlib import Path

import pytest
from jinja2 import UndefinedError

import sophron
from sophron.records import templates


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.j2"
    path.write_text("{% if words %}\n{{ words }}\n{% endif %}\n")
    return path


def test_a_name_that_is_not_given_is_an_error(page):
    with pytest.raises(UndefinedError, match="words"):
        templates.render(page)


@pytest.mark.parametrize(("autoescape", "seen"), [(True, "&lt;b&gt;\n"), (False, "<b>\n")])
def test_html_is_escaped_and_settings_hold(page, autoescape, seen):
    environment = templates.environment(page.parent, autoescape=autoescape, trim_blocks=True)
    assert environment.get_template(page.name).render(words="<b>") == seen


def test_the_last_line_keeps_its_end(page):
    assert templates.render(page, words="a") == "\na\n\n"


def test_there_is_no_second_environment():
    made = [
        path.name
        for path in Path(sophron.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.module == "jinja2"
        and "StrictUndefined" in {name.name for name in node.names}
    ]
    assert made == ["templates.py"]
