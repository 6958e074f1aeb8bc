"""The command line as a whole: help, versions, unknown verbs, errors as one sentence, a light start."""

import subprocess
import sys
from pathlib import Path

import pytest

import sophron
from sophron.cli import main, verbs

HEAVY = ("numpy", "scipy", "matplotlib", "snakemake", "jsonschema", "jinja2", "yaml", "simpleeval")


def test_the_overview_names_every_verb(capsys):
    assert main([]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert set(verbs()) <= set(listed)


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_explains_itself(verb, capsys):
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0
    assert f"usage: sophron {verb}" in capsys.readouterr().out


def test_the_version_is_the_packages(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == sophron.__version__


def test_an_unknown_verb_names_the_nearest(capsys):
    assert main(["aprove"]) == 2
    assert capsys.readouterr().err.splitlines() == ['sophron: there is no verb "aprove"; did you mean approve?']


def test_a_user_error_is_one_sentence_without_a_traceback(tmp_path, capsys):
    assert main(["review", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("sophron review: ")
    assert error.count("\n") == 1
    assert "Traceback" not in error


def test_help_imports_nothing_heavy():
    code = f"import sys; from sophron.cli import main; main(['--help']); print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(13, "Permission denied", "/x"), "sophron status: /x: permission denied"),
        (OSError(28, "No space left on device"), "sophron status: the disk is full"),
        (RecursionError(), "sophron status: a file that it reads is nested too deeply"),
    ],
)
def test_what_the_system_refuses_is_one_sentence_here_and_in_the_log(error, words, tmp_path, capsys, monkeypatch):
    def fail(_):
        raise error

    monkeypatch.setattr("sophron.cli.status.run", fail)
    assert main(["status", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(words)


def test_a_full_disk_behind_standard_output_is_one_sentence():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sophron", "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "sophron: the disk is full, or your quota is; make room and give the same command again\n"


def test_a_sign_that_the_terminal_cannot_show_is_no_error():
    code = "import sys; from sophron.cli import main; main(['--version']); print('5 \u00b1 1')"
    environment = {"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[-1] == "5 \\xb1 1"
