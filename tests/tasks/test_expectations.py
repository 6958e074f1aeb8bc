"""Sentences of expectations: which checks they come to, and which stay UNVERIFIED because a clause is of no known form."""

import pytest

from sophron.records.typed_json import to_json
from sophron.tasks import expectation_checks, expectations
from sophron.tasks.expectation_checks import Work


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
        ("a.json exists with a sensible mean", "a.json exists with a sensible mean"),
        ("accuracy > 0.9 in a.json of the second run", "accuracy > 0.9 in a.json of the second run"),
        ("error.log does not exist", "error.log does not exist"),
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
    assert met("`make b` succeeds", run=run).faults == ("make b ended with 3",)
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
