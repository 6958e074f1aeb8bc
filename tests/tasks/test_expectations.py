"""Sentences of expectations: which checks they come to, and which stay UNVERIFIED because a clause is of no known form."""

import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

from sophron.records.digests import file_digest
from sophron.records.typed_json import to_json
from sophron.tasks import expectation_checks, expectations
from sophron.tasks.expectation_checks import Work
from sophron.tasks.tool_history import RecordedCall


def checks(text):
    return [to_json(one) for one in expectations.bind(text, 1).checks]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fit.png exists", [{"check": "exists", "file": "fit.png"}]),
        (
            "`fit_params.json` exists with keys const, mean and sigma",
            [
                {"check": "exists", "file": "fit_params.json"},
                {"check": "keys", "file": "fit_params.json", "names": ["const", "mean", "sigma"]},
            ],
        ),
        (
            "metrics.json: accuracy > 0.9; loss in [0, 1)",
            [
                {"check": "range", "file": "metrics.json", "key": "accuracy", "least": 0.9, "open_least": True},
                {"check": "range", "file": "metrics.json", "key": "loss", "least": 0, "most": 1, "open_most": True},
            ],
        ),
        (
            "n equals 5 in `out/a.json`",
            [{"check": "range", "file": "out/a.json", "key": "n", "least": 5, "most": 5}],
        ),
        (
            "fit.png is a valid PNG and is larger than 1 KB",
            [
                {"check": "image", "file": "fit.png", "text": "png"},
                {"check": "size", "file": "fit.png", "least": 1024, "open_least": True},
            ],
        ),
        (
            "table.csv has columns time, current and has at least 10 rows.",
            [
                {"check": "columns", "file": "table.csv", "names": ["time", "current"]},
                {"check": "rows", "file": "table.csv", "least": 10},
            ],
        ),
        (
            'The file report.txt contains "it\'s done"',
            [{"check": "contains", "file": "report.txt", "text": "it's done"}],
        ),
        (
            '`python3 a.py` prints "PASSED: All"',
            [{"check": "prints", "text": "PASSED: All", "command": "python3 a.py"}],
        ),
        ("Running `make test` succeeds", [{"check": "succeeds", "command": "make test"}]),
        ("fit.json passes `tests/fit.py`", [{"check": "succeeds", "command": "python3 /tests/fit.py fit.json 2>&1"}]),
        ("The work passes the test `tests/all.py`", [{"check": "succeeds", "command": "python3 /tests/all.py 2>&1"}]),
        ("Only `a.py` and b.py are modified", [{"check": "unchanged", "names": ["a.py", "b.py"]}]),
        ("data.csv is not modified", [{"check": "unchanged", "file": "data.csv"}]),
        ("result.json is valid JSON", [{"check": "json", "file": "result.json"}]),
    ],
)
def test_a_sentence_comes_to_its_checks(text, wanted):
    assert checks(text) == wanted


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("The result is correct", "The result is correct"),
        ("fit.png exists and looks good", "looks good"),
        ("mean in [1, 2]", "mean in [1, 2]: of which file?"),
        ("a.json exists with a sensible mean", "a sensible mean"),
        ("accuracy > 0.9 in a.json of the second run", "accuracy > 0.9 in a.json of the second run"),
        ("error.log does not hold errors", "error.log does not hold errors"),
        ("notes.md exists with a summary. It is short.", "a summary"),
        ("accuracy above 90% in metrics.json", "accuracy above 90% in metrics.json"),
        ("report.md contains a summary", "report.md contains a summary"),
        ("`make` succeeds with a.txt", "`make` succeeds with a.txt"),
        ("Nothing else is changed", "Nothing else is changed: of which file?"),
        ("Both modes print PASSED", "Both modes print PASSED"),
        ("a.json:", "a.json:"),
        ("../secret.txt exists", "../secret.txt exists"),
    ],
)
def test_one_clause_of_no_known_form_leaves_it_unverified(text, clause):
    found = expectations.bind(text, 1)
    assert found.checks == ()
    assert found.why == clause


@pytest.fixture
def met(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()

    def judged(text, before=None, run=lambda line: (0, ""), **files):
        for name, content in files.items():
            (folder / name.replace("_", ".")).write_text(content)
        return expectation_checks.find(expectations.bind(text, 1), Work(folder, before or {}, run))

    judged.folder = folder
    return judged


@pytest.mark.parametrize(
    ("text", "content", "faults"),
    [
        ("a.json exists", "{}", ()),
        ("b.json exists", "{}", ("b.json: is not there",)),
        ("a.json exists with keys x, y", '{"x": 1}', ("a.json: has no key y",)),
        ("x in [1, 2] in a.json", '{"x": 2}', ()),
        ("x in [1, 2) in a.json", '{"x": 2}', ("a.json: x is 2, out of bounds",)),
        ("x > 1 in a.json", '{"x": true}', ("a.json: x is not a number",)),
        ("x > 1 in a.json", '{"x": NaN}', ("a.json: is not JSON",)),
        ("x.y >= 1 in a.json", '{"x": {"y": 1}}', ()),
        ("a.json is valid JSON", "{", ("a.json: is not JSON",)),
        ("a.json is valid PNG", "{}", ("a.json: is not a valid PNG",)),
        ("a.json is larger than 1 KB", "x" * 1024, ("a.json: its size in bytes is 1024, out of bounds",)),
        ("a.json is larger than 1 KB", "x" * 1025, ()),
        ('a.json contains "ok"', "not", ('a.json: does not contain "ok"',)),
    ],
)
def test_a_check_says_why_it_does_not_pass(met, text, content, faults):
    finding = met(text, a_json=content)
    assert finding.faults == faults
    assert finding.met is (not faults)


def test_tables(met):
    table = "time,current\n0,1\n1,2\n"
    assert met("a.csv has columns time, current; has exactly 2 rows", a_csv=table).met
    finding = met("a.csv has columns time, voltage and has at least 3 rows", a_csv=table)
    assert finding.faults == ("a.csv: has no column voltage", "a.csv: the number of its rows is 2, out of bounds")


def test_commands(met):
    ran = []

    def run(line):
        ran.append(line)
        return 3, "nothing"

    assert met('`make a` prints "done"', run=run).faults == ('make a ended with 3 and did not print "done"',)
    assert met("`make b` succeeds", run=run).faults == ("make b ended with 3 (nothing)",)
    assert ran == ["make a", "make b"]


def test_images_that_are_blank_do_not_count(met):
    image = pytest.importorskip("PIL.Image")
    made = image.new("RGB", (8, 8), "white")
    made.save(met.folder / "a.png")
    assert met("a.png exists, valid PNG").faults == ("a.png: is blank: all of its pixels have one colour",)
    made.putpixel((3, 3), (0, 0, 0))
    made.save(met.folder / "a.png")
    assert met("a.png exists, valid PNG").met
    made.save(met.folder / "b.jpg")
    assert met("b.jpg is a valid image").met
    assert met("b.jpg is a valid PNG").faults == ("b.jpg: is not a valid PNG",)


def test_files_that_were_to_stay(met):
    before = {"a.json": "0" * 64}
    assert met("a.json is not modified", before, a_json="{}").faults == ("a.json: a.json was changed",)
    assert met("Only a.json is modified", before).met
    assert met("Only b.json is modified", before).faults == ("a.json was changed",)
    assert met("b.json is not modified", before).faults == ("b.json: was not among the files of the task",)


def test_links_of_an_agent_lead_nowhere(met, tmp_path):
    (tmp_path / "secret.txt").write_text("ok")
    (met.folder / "a.txt").symlink_to(tmp_path / "secret.txt")
    assert met('a.txt contains "ok"').faults == ("a.txt: is a link that leads out of the work folder",)


def test_what_no_program_checks_is_neither_met_nor_unmet(met):
    finding = met("The result is beautiful")
    assert finding.met is None
    assert finding.faults == ("UNVERIFIED: no program checks The result is beautiful",)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("b.txt does not exist", ()),
        ("a.json must not exist", ("a.json: is there",)),
        ("a.json is not empty", ()),
        ('status == "ok" in a.json', ()),
        ('status is "bad" in a.json', ('a.json: status is ok, not "bad"',)),
        ("done is true in a.json", ()),
        ("n is true in a.json", ("a.json: n is 1, not true",)),
        ("chi2/ndf < 2 in a.json", ()),
        ("n = 1.1 ± 0.1 in a.json", ()),
        ("a.json has 1 line", ()),
        ("a.json has at least 2 lines", ("a.json: the number of its lines is 1, out of bounds",)),
        ("`out/` contains at least 2 txt files", ("out/*.txt: the number of files is 1, out of bounds",)),
        ("`out/*.txt` exists, > 1 B", ()),
        ("`out/*.csv` exists", ("out/*.csv: is not there",)),
        ('out/a.txt contains exactly "one two"', ()),
        ("out/a.txt is identical to given.txt", ("out/a.txt: is not identical to given.txt",)),
        ("x.npy has shape (2, 3)", ()),
        ("x.npy has shape (3, 2)", ("x.npy: its array has another shape, (2, 3)",)),
        ("y.npz exists with arrays a, b", ("y.npz: has no key b",)),
        ("y.npz has arrays a (2, 3)", ()),
    ],
)
def test_checks_of_values_folders_and_arrays(met, text, faults):
    (met.folder / "out").mkdir()
    (met.folder / "out" / "a.txt").write_text("one two\n")
    (met.folder / "a.json").write_text('{"status": "ok", "done": true, "n": 1, "chi2/ndf": 1.5}')
    np.save(met.folder / "x.npy", np.zeros((2, 3)))
    np.savez(met.folder / "y.npz", a=np.zeros((2, 3)))
    assert met(text, {"given.txt": "0" * 64}).faults == faults


def test_shapes_of_hdf5_are_read_by_a_program_of_the_sandbox(met):
    h5py = pytest.importorskip("h5py")

    def run(line):  # the sandbox's part is played by a plain process
        words = [sys.executable, *shlex.split(line)[1:]]
        done = subprocess.run(words, cwd=met.folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    with h5py.File(met.folder / "gen.h5", "w") as file:
        file["showers"] = np.zeros((10, 64))
        file["deep/energies"] = np.zeros((10, 1))
    assert met("gen.h5 exists with keys showers (10, 64)", run=run).met
    assert met("gen.h5 has shape (10, 64)", run=run).met is False
    wrong = met("gen.h5 exists with keys showers (64, 10) and masses", run=run)
    assert wrong.faults == ("gen.h5: has no key masses", "gen.h5: showers has another shape, (10, 64)")
    (met.folder / "gen.h5").write_text("no HDF5")
    assert met("gen.h5 exists with keys showers", run=run).faults == ("gen.h5: is not HDF5",)


def test_an_array_that_would_run_code_is_not_loaded(met):
    np.save(met.folder / "x.npy", np.array([print], dtype=object), allow_pickle=True)
    assert met("x.npy has shape (1)").met
    (met.folder / "x.npy").write_bytes(b"no array")
    assert met("x.npy has shape (1)").faults == ("x.npy: is not a file of NumPy",)


@pytest.mark.parametrize(
    ("line", "failed", "wanted"),
    [
        ("sbatch run.sh", False, True),
        ("cd work && A=1 timeout 60 sbatch run.sh --array 3", False, True),
        ("sbatch run.sh; true", False, True),
        ("sbatch run.sh", True, False),
        ("echo sbatch run.sh", False, False),
        ("# sbatch run.sh", False, False),
        ("true || sbatch run.sh", False, False),
        ("false && sbatch run.sh; true", False, False),
        ("sbatch other.sh", False, False),
    ],
)
def test_a_command_that_was_to_be_run(met, line, failed, wanted):
    expectation = expectations.bind("`sbatch run.sh` was run", 1)
    calls = [RecordedCall("run_command", {"line": line}, failed=failed)]
    found = expectation_checks.find(expectation, Work(met.folder, {}, lambda _: (0, ""), calls))
    assert found.met is wanted
    assert met("`sbatch run.sh` was run").faults == ("sbatch run.sh: nothing was recorded of what was run",)


def test_a_test_file_has_to_be_the_one_that_was_given(met):
    ran = []

    def run(line):
        ran.append(line)
        return 0, "2 passed in 0.1s"

    (met.folder / "test_a.py").write_text("assert True")
    given = {"test_a.py": file_digest(met.folder / "test_a.py"), "check.sh": "0" * 64}
    assert met("test_a.py passes", given, run).met
    assert ran == ["python3 -m pytest -q -p no:cacheprovider test_a.py"]
    (met.folder / "test_a.py").write_text("")
    (met.folder / "check.sh").write_text("exit 0")
    assert met("test_a.py passes", given, run).faults == ("test_a.py: was changed",)
    assert met("check.sh passes", given, run).faults == ("check.sh: was changed",)
    assert met("check.sh passes", {}, run).met
    assert met("test_a.py passes", {}, lambda _: (0, "")).faults == ("test_a.py: does not pass, it ended with 0",)


def test_what_may_change_in_a_folder(met):
    (met.folder / "sim").mkdir()
    (met.folder / "sim" / "a.v").write_text("changed")
    before = {"sim/a.v": "0" * 64, "b.txt": "0" * 64}
    assert met("Only sim/a.v modified under sim/ (if needed)", before).met
    assert met("Only a.v is modified under sim/", before).met
    assert met("Only sim/a.v is modified", before).faults == ("b.txt is not there",)
    assert met("sim/a.v exists; no other sim/ files modified", before).met
    assert met("No file other than b.txt is modified", before).faults == ("sim/a.v was changed",)


def test_sizes_of_images(met):
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (64, 48)).save(met.folder / "a.png")
    assert met("a.png is at least 64x48 pixels").met
    assert met("a.png is at least 65 x 48 pixels").faults == ("a.png: has 64 x 48 pixels",)


def test_what_is_proposed_binds():
    values = {"KEY": "mean", "LOW": "1", "HIGH": "2", "COMMAND": "make", "TEXT": "x", "A, B": "a, b"}
    for form in {*expectations._PROPOSALS.values(), expectations.proposal("something")}:
        text = re.sub(r"\bFILE\b(?!\.)", "a.txt", re.sub(r" \(.*\)", "", form).replace("FILE.", "a."))
        for word, value in values.items():
            text = text.replace(word, value)
        assert expectations.bind(text, 1).checks, text
    assert expectations.proposal("fit.png looks good") == "fit.png is a valid PNG and is larger than 5 KB"
