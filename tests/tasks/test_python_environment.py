"""The Python of a task: which one, what pip is to install, and that it is made once."""

import sys

import pytest

from sophron.records.errors import UserError
from sophron.tasks import python_environment

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


def test_of_two_requirements_of_a_package_the_later_counts():
    wanted = ["numpy==2.1.2", "SciPy==1.15.3", "Numpy>=2.3", "ruamel.yaml", "ruamel-yaml==0.18"]
    assert python_environment.last_of_each(wanted) == ["Numpy>=2.3", "ruamel-yaml==0.18", "SciPy==1.15.3"]
    with pytest.raises(UserError, match="a b is not a requirement of pip; write it as name==version"):
        python_environment.last_of_each(["a b"])


def test_a_file_of_requirements(tmp_path):
    path = tmp_path / "requirements.txt"
    path.write_text("# what it needs\nnumpy==2.1.2  # pinned\n\nscipy\n")
    assert list(python_environment.of_file(path)) == ["numpy==2.1.2", "scipy"]


@pytest.mark.parametrize("line", ["--index-url https://x.org", "-e .", "git+https://x.org/a", "a==1 \\"])
def test_other_sources_of_a_file_are_refused(tmp_path, line):
    path = tmp_path / "requirements.txt"
    path.write_text(f"numpy\n{line}\n")
    with pytest.raises(UserError, match=r"requirements.txt:2: .* is not a requirement by name"):
        list(python_environment.of_file(path))


def test_a_python_that_is_not_here_is_named(tmp_path):
    assert python_environment.interpreter("3.99") is None
    with pytest.raises(UserError, match=r"Python 3.99 is not on this machine; install it .* or name one .* --python"):
        python_environment.make("3.99", [], tmp_path, 60)


def test_an_environment_is_made_once_and_says_what_is_in_it(tmp_path):
    made, resolved = python_environment.make(HERE, [], tmp_path, 120)
    assert resolved.python == HERE
    assert resolved.packages[0].startswith("pip==")
    (made.prefix / "mark").touch()
    again, _ = python_environment.make(HERE, [], tmp_path, 120)
    assert (again.prefix / "mark").exists()
    (made.prefix / python_environment.LOCK).unlink()  # as a kill would leave it
    python_environment.make(HERE, [], tmp_path, 120)
    assert not (made.prefix / "mark").exists()


def test_what_has_no_wheel_is_refused_with_what_pip_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(UserError, match=r"pip cannot install from wheels \(.*no-such-thing.*\); pin what has wheels"):
        python_environment.make(HERE, ["no-such-thing==1"], tmp_path, 120)
