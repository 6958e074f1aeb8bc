"""Every file of the code that CONTRIBUTING, README and the documentation name is there."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
LIBRARY = TOP / "src" / "sophron"
PAGES = [TOP / "CONTRIBUTING.md", TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))]
PACKAGES = "|".join(sorted(path.parent.name for path in LIBRARY.glob("*/__init__.py")))
NAMED = re.compile(rf"(?<![\w/.>-])(?:(?:src|bench|docs|tests)/[\w./*<>+-]*[\w>/]|(?:{PACKAGES})/[\w/<>]+\.py\b)")
OTHERS = {"tests/testinp"}
"""A folder of GSAS-II."""


def missing(text):
    """The paths that are neither below the top folder nor below the library; `<name>` stands for any name."""
    patterns = {path: re.sub(r"<[^>]*>", "*", path) for path in NAMED.findall(text) if path not in OTHERS}
    return sorted(path for path, pattern in patterns.items() if not (_there(TOP, pattern) or _there(LIBRARY, pattern)))


def _there(folder, pattern):
    return any(folder.glob(pattern))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(TOP).as_posix())
def test_a_page_names_files_that_exist(page):
    assert missing(page.read_text()) == []


def test_a_file_that_was_moved_is_noticed():
    text = "`src/sophron/records/atomics.py` and `records/locks.py`, not `src/sophron/kinds/<kind>/kind.py`"
    assert missing(text) == ["records/locks.py", "src/sophron/records/atomics.py"]
