"""Stage files in the real sandbox."""

import subprocess

import pytest

from sophron.debate.pipeline import Pipeline
from sophron.records.documents import Document, validate
from sophron.sandbox.choose import choose

from . import dimers

pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'sophron[chem]'")

WRITES = """
import json
from sophron.science.host_guest.stage_file import reporting
with reporting(1) as account:
    {body}
"""


def ran(tmp_path, source, **others):
    made = dimers.pipeline()
    made = Pipeline(made.rationale, made.windows, {**made.files, "01_prep.py": source})
    work, executed = dimers.stage(made, 1, tmp_path, **others)
    validate(Document(executed.as_document(), tmp_path), "debate/executed")
    validate(Document(executed.result, tmp_path), "debate/stage_result")
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
    assert produced.result["diagnostics"]["window"] == 4
    assert sorted(path.name for path in work.workdir.iterdir()) == ["samples.npz", "stage_03_result.json"]


def test_a_crash_before_any_result_is_a_result(tmp_path):
    _, executed = ran(tmp_path, "import nothing_of_this_name\n")
    assert executed.result["failure"]["kind"] == "no_result"
    assert "nothing_of_this_name" in executed.result["failure"]["sentence"]
    assert executed.measured["exit_code"] == 1


def test_a_crash_inside_keeps_its_own_result(tmp_path):
    _, executed = ran(tmp_path, WRITES.format(body="raise KeyError('gone')"))
    assert executed.result["failure"] == {"kind": "KeyError", "sentence": "'gone'"}


def test_a_result_that_is_not_valid_is_none(tmp_path):
    _, executed = ran(tmp_path, "open('stage_01_result.json', 'w').write('{\"stage\": 1}')\n")
    assert executed.result["failure"]["kind"] == "invalid_result"


def test_a_good_result_of_a_program_that_crashed_is_not_believed(tmp_path):
    _, executed = ran(tmp_path, WRITES.format(body="pass") + "raise SystemExit(3)\n")
    assert executed.result["failure"]["kind"] == "crash"


def test_a_file_that_does_not_end_is_ended(tmp_path):
    _, executed = ran(tmp_path, "while True: pass\n", wall_s=3)
    assert executed.result["failure"]["kind"] == "limit"
    assert executed.measured["limit"] == "wall_s"


def test_a_link_that_it_leaves_is_taken_away(tmp_path):
    work, executed = ran(
        tmp_path,
        WRITES.format(body="pass") + "import os\nos.symlink('/etc/passwd', 'found.txt')\nos.mkfifo('pipe')\n",
    )
    assert executed.completed
    assert [path.name for path in work.workdir.iterdir()] == ["stage_01_result.json"]


SEARCH = """
import glob, os, sys
def csv_below(top):
    for folder, folders, files in os.walk(top):
        folders[:] = [each for each in folders if each not in ("proc", "sys", "dev", "usr", "site-packages", "lib")]
        yield from (os.path.join(folder, each) for each in files if each.endswith(".csv"))
def read(paths):
    text = ""
    for each in paths:
        try:
            text += open(each, "rb").read().decode(errors="replace")
        except OSError:
            pass
    return text
WAYS = {{
    "beside": lambda: read(csv_below("../../../..")),
    "path": lambda: read([{path!r}]),
    "environment": lambda: repr(dict(os.environ)),
    "processes": lambda: read(glob.glob("/proc/[0-9]*/environ")),
    "everywhere": lambda: read(csv_below({top!r})),
}}
found = {{}}
for name, look in WAYS.items():
    found[name] = {secret!r} in look()
from sophron.science.host_guest.stage_file import reporting
with reporting(1) as account:
    account.convergence_flags.update(found)
"""


@pytest.mark.parametrize(("confined", "seen"), [(True, set()), (False, {"beside", "path", "processes", "everywhere"})])
def test_references_are_nowhere_that_a_pipeline_can_look(tmp_path, monkeypatch, confined, seen):
    """Five ways, which find them where there is no sandbox (its environment is granted, so that one never does)."""
    kept = tmp_path / "campaign" / "results" / "references" / "held_out.csv"
    kept.parent.mkdir(parents=True)
    secret = "kept-apart-13.7"
    kept.write_text(secret)
    place = tmp_path / "campaign" / "scratch"
    source = SEARCH.format(path=str(kept), top="/" if confined else str(tmp_path), secret=secret)
    holder = subprocess.Popen(["sleep", "60"], env={"KEPT": secret})
    try:
        _, executed = ran(place, source, sandbox=choose("bubblewrap" if confined else "none", allow_none=True))
    finally:
        holder.kill()
        holder.wait()
    assert executed.completed, executed
    assert {name for name, found in executed.result["convergence_flags"].items() if found} == seen
