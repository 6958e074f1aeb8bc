"""Results of a host's stage: read from JSON, YAML, tables, SQLite and file sizes, by declared types."""

import json
import sqlite3
from pathlib import Path

import pytest

from sophron.interfaces.kind import EngineFailure, StepContext
from sophron.kinds.workflow import read_results


def read(tmp_path, monkeypatch, **results) -> dict:
    """The result of a step over all files of the folder."""
    monkeypatch.chdir(tmp_path)
    files = {str(path.relative_to(tmp_path)): path for path in tmp_path.rglob("*") if path.is_file()}
    definition = {"rules": ["any"], "results": results}
    return dict(read_results.run(StepContext("s", {}, definition, {}, tmp_path, tmp_path, 1, files=files)).result)


@pytest.fixture
def made(tmp_path) -> Path:
    (tmp_path / "a.json").write_text(json.dumps({"n": {"x": 1.5}, "rows": [{"q": 3}, {"q": 5}], "ok": True}))
    (tmp_path / "b.json").write_text(json.dumps({"n": {"x": 2.5}, "rows": [{"q": 7}], "ok": True}))
    (tmp_path / "c.yaml").write_text("n: {x: 4}\n")
    (tmp_path / "t.tsv").write_text("sample\tq\n007\t30\n008\t40\n")
    (tmp_path / "plain.csv").write_text("the,12\nof,3\n")
    with sqlite3.connect(tmp_path / "d.sqlite") as base:
        base.execute("create table t (q int)")
        base.executemany("insert into t values (?)", [(1,), (2,)])
    return tmp_path


CASES = {
    "a number of each file": ({"file": "{s}.json", "value": "n/x", "over": "max", "unit": "1"}, 2.5),
    "all members of all files": ({"file": "{s}.json", "value": "rows/*/q", "over": "sum", "unit": "1"}, 15),
    "a position": ({"file": "a.json", "value": "rows/1/q", "unit": "1"}, 5),
    "a truth": ({"file": "a.json", "value": "ok", "type": "boolean", "unit": "1"}, True),
    "YAML": ({"file": "c.yaml", "value": "n/x", "unit": "1"}, 4),
    "a column": ({"file": "t.tsv", "column": "q", "over": "median", "unit": "1"}, 35),
    "rows": ({"file": "t.tsv", "column": "sample", "over": "count", "unit": "1"}, 2),
    "no header": ({"file": "plain.csv", "column": "n", "columns": ["word", "n"], "over": "min", "unit": "1"}, 3),
    "SQL": ({"file": "d.sqlite", "query": "select q from t", "over": "mean", "unit": "1"}, 1.5),
    "size": ({"file": "c.yaml", "size": True, "unit": "byte"}, 10),
}


@pytest.mark.parametrize("name", CASES)
def test_a_number_is_read_as_declared(made, monkeypatch, name):
    about, wanted = CASES[name]
    assert read(made, monkeypatch, found=about) == {"found": wanted}


FAULTS = {
    "no such file": ({"file": "z.json", "value": "n"}, "none of the stage's rules makes a file z.json"),
    "several values": ({"file": "{s}.json", "value": "n/x"}, "holds 2 values; say over what: min, max"),
    "no such key": ({"file": "a.json", "value": "n/y"}, 'a.json has no "y"'),
    "no such column": ({"file": "t.tsv", "column": "quality"}, 'has no column "quality"; it has sample, q'),
    "text": ({"file": "a.json", "value": "n"}, "where number is declared"),
    "a truth for a number": ({"file": "a.json", "value": "ok"}, 'has "True" at ok where number is declared'),
    "a fraction for an integer": ({"file": "a.json", "value": "n/x", "type": "integer"}, "where integer is declared"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_not_as_declared_is_one_sentence(made, monkeypatch, name):
    about, said = FAULTS[name]
    with pytest.raises(EngineFailure) as failure:
        read(made, monkeypatch, found={**about, "unit": "1"})
    assert said in str(failure.value)


@pytest.mark.parametrize("cell", ["", "nan", "inf", "n/a"])
def test_a_cell_that_is_no_number_is_a_failure_and_never_left_out(tmp_path, monkeypatch, cell):
    (tmp_path / "t.tsv").write_text(f"q\n1\n{cell}\t\n")
    with pytest.raises(EngineFailure):
        read(tmp_path, monkeypatch, found={"file": "t.tsv", "column": "q", "over": "min", "unit": "1"})
