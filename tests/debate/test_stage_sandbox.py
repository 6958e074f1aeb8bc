"""Stage files in the real sandbox."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sophron
from sophron.debate.pipelines.pipeline import Pipeline
from sophron.records.documents import Document, validate

from . import dimers

pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'sophron[chem]'")

WRITES = """
import json
from sophron.science.host_guest.stage_file_api import reporting
with reporting(1) as account:
    {body}
"""


def ran(tmp_path, source, **others):
    made = dimers.pipeline()
    made = Pipeline(made.rationale, made.windows, {**made.files, "01_prep.py": source})
    work, executed = dimers.stage(made, 1, tmp_path, **others)
    validate(Document(executed.as_document(), tmp_path), "debate/executed")
    validate(Document(executed.said, tmp_path), "debate/stage_result")
    return work, executed


def test_the_first_stages_and_one_window_leave_what_later_ones_need(tmp_path):
    made = dimers.pipeline()
    work, prepared = dimers.stage(made, 1, tmp_path)
    assert prepared.completed, prepared
    assert sorted(path.name for path in work.workdir.iterdir()) == ["chain.json", "stage_01_result.json"]
    _, equilibrated = dimers.stage(made, 2, tmp_path, earlier=["stage_01"])
    assert equilibrated.completed, equilibrated
    work, produced = dimers.stage(made, 3, tmp_path, window=4, earlier=["stage_01", "stage_02"])
    assert produced.completed, produced
    assert produced.result.diagnostics["window"] == 4
    assert sorted(path.name for path in work.workdir.iterdir()) == [
        "observables.npz",
        "samples.npz",
        "stage_03_result.json",
    ]


def test_a_crash_before_any_result_is_a_result(tmp_path):
    _, executed = ran(tmp_path, "import nothing_of_this_name\n")
    assert executed.result.failure.kind == "no_result"
    assert "nothing_of_this_name" in executed.result.failure.sentence
    assert executed.measured.exit_code == 1


def test_a_crash_inside_keeps_its_own_result(tmp_path):
    _, executed = ran(tmp_path, WRITES.format(body="raise KeyError('gone')"))
    assert executed.said["failure"] == {"kind": "KeyError", "sentence": "'gone'"}


def test_a_result_that_is_not_valid_is_none(tmp_path):
    _, executed = ran(tmp_path, "open('stage_01_result.json', 'w').write('{\"stage\": 1}')\n")
    assert executed.result.failure.kind == "invalid_result"


def test_a_good_result_of_a_program_that_crashed_is_not_believed(tmp_path):
    _, executed = ran(tmp_path, WRITES.format(body="pass") + "raise SystemExit(3)\n")
    assert executed.result.failure.kind == "crash"


def test_a_file_that_does_not_end_is_ended(tmp_path):
    _, executed = ran(tmp_path, "while True: pass\n", wall_s=3)
    assert executed.result.failure.kind == "limit"
    assert executed.measured.limit == "wall_s"


def test_a_link_that_it_leaves_is_taken_away(tmp_path):
    work, executed = ran(
        tmp_path,
        WRITES.format(body="pass") + "import os\nos.symlink('/etc/passwd', 'found.txt')\nos.mkfifo('pipe')\n",
    )
    assert executed.completed
    assert [path.name for path in work.workdir.iterdir()] == ["stage_01_result.json"]


SECRET = -13.7131
SEARCH = """
import glob, os
NAME, KEPT = "references.json", {kept!r}
LARGE = ("proc", "sys", "dev", "usr", "lib", "lib64", "site-packages")

def below(top):
    for folder, folders, files in os.walk(top):
        folders[:] = [each for each in folders if each not in LARGE]
        yield from (os.path.join(folder, each) for each in files if each == NAME)

def above():
    place = os.getcwd()
    while place != os.path.dirname(place):
        place = os.path.dirname(place)
        yield from glob.glob(os.path.join(place, "results", "*", NAME))

def named():
    for value in os.environ.values():
        yield from (value, os.path.join(value, NAME), os.path.join(value, "results", "references", NAME))

def of_others():
    for place in glob.glob("/proc/[0-9]*/cwd"):
        yield os.path.join(place, "results", "references", NAME)

def everywhere():
    place = None
    while place != "/":
        place = os.getcwd() if place is None else os.path.dirname(place)
        yield from below(place)

def told(paths):
    for path in paths:
        try:
            with open(path) as stream:
                if {secret!r} in stream.read():
                    return True
        except (OSError, ValueError):
            pass
    return False

WAYS = {{"above": above, "path": lambda: [KEPT], "environment": named, "processes": of_others, "everywhere": everywhere}}
from sophron.science.host_guest.stage_file_api import reporting
with reporting(1) as account:
    account.convergence_flags.update({{name: told(way()) for name, way in WAYS.items()}})
"""
WAYS = {"above", "path", "environment", "processes", "everywhere"}


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """The folder of a campaign with its references where their stage leaves them, and a driver that works in it."""
    folder = tmp_path / "campaign"
    kept = folder / "results" / "references" / "references.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps({"weak": -1.0, "held_out": SECRET}))
    monkeypatch.setenv("PWD", str(folder))
    driver = subprocess.Popen(["sleep", "120"], cwd=folder)
    yield folder
    driver.kill()
    driver.wait()


def looks(campaign):
    """A stage file that looks for the references in five ways."""
    kept = campaign / "results" / "references" / "references.json"
    return SEARCH.format(kept=str(kept), secret=str(SECRET))


def seen(result):
    return {name for name, found in result["convergence_flags"].items() if found}


def test_references_are_nowhere_that_a_pipeline_can_look(campaign):
    _, executed = ran(campaign / "scratch" / "0f3a", looks(campaign))
    assert executed.completed, executed
    assert set(executed.result.convergence_flags) == WAYS
    assert seen(executed.said) == set()


def test_without_a_sandbox_each_of_the_five_ways_finds_them(campaign):
    """The same code as a plain child of the driver, which is what the sandbox is there against."""
    folder = campaign / "scratch" / "0f3a" / "stage_01" / "work"
    folder.mkdir(parents=True)
    (folder / "01_prep.py").write_text(looks(campaign))
    source = str(Path(sophron.__file__).parents[1])
    subprocess.run([sys.executable, "01_prep.py"], cwd=folder, env={**os.environ, "PYTHONPATH": source}, check=True)
    assert seen(json.loads((folder / "stage_01_result.json").read_text())) == WAYS
