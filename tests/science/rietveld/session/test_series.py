"""Patterns that follow a lead: refined from its model, several a step, whole or not begun; a bad one is a row."""

import copy
import hashlib
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from crystals import CIF, SALT

from sophron.interfaces.engine import Progress
from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.interfaces.rietveld import Background, Pattern, Phase, Setup
from sophron.kinds.rietveld.kind import KIND
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.files import write_json
from sophron.science.rietveld import batches, compare, series
from sophron.science.rietveld.engine import RIETX
from sophron.science.rietveld.rietx_engine import Rietx
from sophron.science.rietveld.session import sample as samples
from sophron.science.rietveld.session.session import Session
from sophron.science.rietveld.session.tools import call

HEIGHT = 300.0
"""Of the scales: with ten times the counts the wings that rietx cuts off in a cycle, and not in a simulation, show."""

EDGES = {"p1": 5.6431, "p2": 5.6441, "p3": 5.6451}


@pytest.fixture(scope="module")
def files(engine, simulated, tmp_path_factory):
    """Counts of salt at three edges (Poisson, seeds 0 to 2) and a file that is none, in a campaign's folder."""
    root = tmp_path_factory.mktemp("series")
    (root / "campaign.yaml").write_text("")
    (root / "data").mkdir()
    lead = simulated(0.0, HEIGHT)
    angles = lead.pattern.two_theta_deg
    order = Pattern("order", angles, 100.0 + HEIGHT * np.exp(-(((angles - 40) / 5) ** 2)))
    for seed, (name, edge) in enumerate(EDGES.items()):
        phase = Phase("salt", CIF.format(edge=edge, **SALT))
        state = engine.start(Setup(order, (phase,), lead.instrument, Background("chebyshev", 3, 100.0)), limit_s=300)
        counts = np.random.default_rng(seed).poisson(engine.calculate(state, angles.tolist(), limit_s=300))
        rows = zip(angles, counts, strict=True)
        (root / "data" / f"{name}.xy").write_text("".join(f"{x:.2f} {y}\n" for x, y in rows))
    (root / "data" / "bad.xy").write_text("no numbers\n")
    return root


def refined_lead(engine, given, folder):
    """Upstream of the stage: salt, refined with calculated weights."""
    given = replace(given, engine=engine.name)
    session = Session(engine, given, folder / "session")
    for name, arguments in (
        ("histogram", {"coefficients": 3}),
        ("phase", {"name": "salt"}),
        ("release", {"groups": ["scale", "background", "cell"]}),
        ("refine", {}),
        ("weights", {"kind": "calculated"}),
        ("refine", {}),
        ("report", {}),
    ):
        answer = call(session, name, arguments)
        assert answer.ok, answer.hint
    write_json(folder / "sample.json", samples.data(given))
    about = {"pattern": "lead"}
    return {
        "data": [UpstreamStep("data", about, {}, {"sample": folder / "sample.json"})],
        "refine": [UpstreamStep("refine", about, {}, {"model": folder / "session" / "model.json"})],
    }


@pytest.fixture(scope="module")
def upstream(engine, simulated, files):
    return refined_lead(engine, simulated(0.0, HEIGHT), files)


def definition(root, *names, **others):
    entries = [
        {
            "name": name,
            "file": f"{name}.xy",
            "sha256": hashlib.sha256((root / "data" / f"{name}.xy").read_bytes()).hexdigest(),
        }
        for name in names
    ]
    made = {"lead": "lead", "source": None, "patterns": entries, "sequential": False, **others}
    documents.validate(documents.Document(made, root), "rietveld/series", "definition")
    return made


def run(root, given, upstream, where, batch="1"):
    workdir = root / "scratch" / where
    workdir.mkdir(parents=True, exist_ok=True)
    done = series.run(StepContext("series", {"batch": batch}, given, upstream, workdir, workdir, 1))
    documents.validate(documents.Document(done.result, root), "rietveld/series", "result")
    return done


@pytest.fixture(scope="module")
def done(files, upstream):
    return run(files, definition(files, "p1", "bad", "p2", patterns_a_step=3), upstream, "one")


def test_each_pattern_is_refined_from_the_lead(done):
    rows = {row["pattern"]: row for row in done.result["rows"]}
    assert (done.result["patterns"], done.result["stand"], done.result["without_fit"]) == (3, 2, 1)
    for name in ("p1", "p2"):
        cell = rows[name]["parameters"]["cell/salt/a"]
        assert abs(cell["value"] - EDGES[name]) < 4 * cell["esd_counting"]
        assert rows[name]["gof"] < 1.2
        assert rows[name]["largest_move_over_esd"] < 0.5
    with zipfile.ZipFile(done.files["patterns"]) as archive:
        assert archive.namelist() == [f"{name}/{file}" for name in ("p1", "p2") for file in ("curves.npz", series.CIF)]
        assert b"_cell_length_a" in archive.read("p1/structure.cif")
    assert done.files["worst_plot"].read_bytes().startswith(b"\x89PNG")


def test_a_pattern_that_cannot_be_read_is_a_row_that_says_why(done):
    (bad,) = [row for row in done.result["rows"] if row["pattern"] == "bad"]
    assert (bad["ended"], bad["stands"], bad["gof"], bad["cycles"]) == ("refused", False, None, 0)
    assert "is not numbers" in bad["reason"] or "columns" in bad["reason"]


def test_what_was_finished_before_a_kill_is_not_refined_again(done, files, upstream, monkeypatch):
    """The third folder is gone, as if the step was killed in it: one pattern is read, and the bytes are the same."""
    workdir, read = files / "scratch" / "one", []
    (workdir / series.EACH / "p2" / series.ROW).unlink()
    before = {name: path.read_bytes() for name, path in done.files.items()}
    of = series.patterns.read
    monkeypatch.setattr(series.patterns, "read", lambda path, engine: read.append(path.name) or of(path, engine))
    again = run(files, definition(files, "p1", "bad", "p2", patterns_a_step=3), upstream, "one")
    assert read == ["p2.xy"]
    assert {name: path.read_bytes() for name, path in again.files.items()} == before


def test_one_engine_serves_a_step_and_a_sequence_begins_where_the_last_ended(files, upstream, monkeypatch):
    begun, engines, refine, seen = [], [], Rietx.refine, set()
    monkeypatch.setattr(Rietx, "_make", lambda self, of=Rietx._make: engines.append(self) or of(self))

    def noted(self, pattern, state, request):
        seen.add(RIETX.progress(files / "scratch" / "chain", files))
        begun.append((pattern.name.rpartition("/")[2], state.values["cell/salt/a"]))
        return refine(self, pattern, state, request)

    monkeypatch.setattr(Rietx, "refine", noted)
    rows = run(files, definition(files, "p1", "p2", "p3", sequential=True), upstream, "chain").result["rows"]
    first = dict(reversed(begun))
    assert len(engines) == 1
    assert sorted((one.step, one.total, one.unit) for one in seen) == [(done, 3, "patterns") for done in range(3)]
    assert first["p2.xy"] == pytest.approx(rows[0]["parameters"]["cell/salt/a"]["value"], abs=1e-9)
    assert first["p3.xy"] == pytest.approx(rows[1]["parameters"]["cell/salt/a"]["value"], abs=1e-9)


def test_a_step_without_any_fit_is_rows_that_say_why(files, upstream):
    """A pattern that is alone in its step costs that step, and not the stage."""
    done = run(files, definition(files, "bad"), upstream, "nothing")
    assert (done.result["patterns"], done.result["stand"], done.result["without_fit"]) == (1, 0, 1)
    assert done.result["largest_gof"] is None
    assert "bad.xy" in done.result["rows"][0]["reason"]
    assert done.files["worst_plot"].read_bytes().startswith(b"\x89PNG")
    with zipfile.ZipFile(done.files["patterns"]) as archive:
        assert archive.namelist() == []


def test_a_file_that_is_not_the_pinned_one_fails_the_step(files, upstream):
    given = definition(files, "p1", "p2")
    given["patterns"][1]["sha256"] = "0" * 64
    given["patterns_a_step"] = 2
    with pytest.raises(UserError, match=r"p2\.xy: is not the file that campaign.yaml pins"):
        run(files, given, upstream, "pinned")


def test_a_series_is_compared_with_its_lead(done, files):
    cell = {"value": 5.6421, "esd": 1e-5, "esd_counting": 1e-5}
    lead = {"parameters": {"cell/salt/a": cell}, "rwp_percent": 5.0, "gof": 1.0, "engine": "rietx", "stands": True}
    steps = {
        "refine": [UpstreamStep("refine", {"pattern": "lead"}, {**lead, "phases": []}, {})],
        "series": [UpstreamStep("series", {"batch": "1"}, done.result, {})],
    }
    asked = {"parameter": "cell/salt/a", "units": "angstrom"}
    found = compare.run(StepContext("compare", {}, asked, steps, files, files, 1)).result
    documents.validate(documents.Document(found, files), "rietveld/compare", "result")
    assert [row["pattern"] for row in found["rows"]] == ["lead", "p1", "p2"]
    assert found["reports_that_stand"] == found["patterns"] == 3
    assert (found["listed"], found["without_fit"]) == (4, 1)


def test_gsas2_follows_a_lead_too(gsas2, simulated, files, tmp_path):
    lead = refined_lead(gsas2, simulated(0.0, HEIGHT), tmp_path)
    (row,) = run(files, definition(files, "p1"), lead, "gsas2").result["rows"]
    cell = row["parameters"]["cell/salt/a"]
    assert row["stands"], row
    assert row["engine"] == "gsas2"
    assert abs(cell["value"] / EDGES["p1"] - 1) < 1e-5  # the counts are those of the other engine's lines


def test_batches_depend_on_the_definition_alone():
    def sizes(count, **given):
        made = {"patterns": [{"name": str(number)} for number in range(count)], "sequential": False, **given}
        return [len(one) for one in batches.of(made).values()]

    assert sizes(100) == [25] * 4
    assert sizes(9) == [3, 3, 3]
    assert sizes(1) == [1]
    assert sizes(260)[-1] == 10
    assert sizes(100, sequential=True) == [100]
    assert sizes(10, patterns_a_step=4) == [4, 4, 2]
    spec = {"data": {"patterns": [{"name": "a"}]}, "series": definition_of("a", "b")}
    assert KIND.ranges(spec) == {"pattern": ["a"], "batch": ["1"]}
    twice = copy.deepcopy(spec)
    twice["series"]["patterns"].append({"name": "a"})
    with pytest.raises(UserError, match='two are called "a"'):
        KIND.ranges(twice)
    with pytest.raises(UserError, match=r'"c" is none of data\.patterns'):
        KIND.ranges({**spec, "series": definition_of("c", "b")})


def definition_of(lead, *names):
    return {"lead": lead, "patterns": [{"name": name} for name in names], "sequential": False}


def test_the_row_is_plain_data(done):
    assert json.loads(json.dumps(done.result)) == done.result


def test_the_cycles_of_a_session_are_its_progress(files, upstream):
    session = files / "session"
    assert session.joinpath("trajectory.json").is_file()
    assert RIETX.progress(files, files) == Progress(2, None, unit="cycles")
