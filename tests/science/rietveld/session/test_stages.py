"""The stages of the kind: files are checked and pinned, a report is recomputed from its model, patterns are compared."""

import copy
import hashlib
import json

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from sophron.interfaces.kind import EngineFailure, StepContext, UpstreamStep
from sophron.interfaces.rietveld import Request
from sophron.kinds.rietveld.kind import KIND
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json
from sophron.science.rietveld import compare, data, refine, report_check
from sophron.science.rietveld.session import model_files
from sophron.science.rietveld.session import sample as samples
from sophron.science.rietveld.session.report import Report
from sophron.science.rietveld.session.session import Session
from sophron.science.rietveld.session.tools import call
from sophron.science.rietveld.session.trajectory import Calls

RECIPE = {"candidates": {"claim_significance": 5.0, "absent_below": 3.0}}


def context(stage, definition, workdir, upstream=None):
    workdir.mkdir(parents=True, exist_ok=True)
    return StepContext(stage, {"pattern": "one"}, definition, upstream or {}, workdir, workdir, 1)


@pytest.fixture(scope="module")
def campaign(simulated, tmp_path_factory):
    """A folder with a campaign.yaml and the files of a sample; the definition of its stage data."""
    root = tmp_path_factory.mktemp("campaign")
    (root / "campaign.yaml").write_text("")
    (root / "data").mkdir()
    sample = simulated(0.02, 3000.0)
    pattern = sample.pattern
    rows = zip(pattern.two_theta_deg, pattern.intensity, strict=True)
    files = {"one.xy": "\n".join(f"{x:.2f} {y:.0f}" for x, y in rows)}
    files |= {f"{one.phase.name}.cif": one.phase.cif for one in sample.phases}
    for name, text in files.items():
        (root / "data" / name).write_text(text)
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    definition = {
        "engine": "rietx",
        "source": None,
        "patterns": [{"name": "one", "file": "one.xy", "sha256": digests["one.xy"]}],
        "phases": [
            {
                "name": one.phase.name,
                "role": one.role,
                "file": f"{one.phase.name}.cif",
                "sha256": digests[f"{one.phase.name}.cif"],
                "march_axis": None,
            }
            for one in sample.phases
        ],
        "instrument": {"wavelengths_angstrom": [1.5406], "profile_w": 0.004, "profile_x": 0.02},
        "limits_deg": None,
        "excluded_deg": [],
    }
    documents.validate(documents.Document(definition, root), "rietveld/data", "definition")
    return root, definition


@pytest.fixture(scope="module")
def checked(campaign):
    root, definition = campaign
    return data.run(context("data", definition, root / "scratch" / "data"))


@pytest.fixture(scope="module")
def left(engine, checked, tmp_path_factory):
    """The folder that a refinement left, and its report: salt, and silicon claimed."""
    folder = tmp_path_factory.mktemp("left") / "session"
    session = Session(engine, samples.load(checked.files["sample"]), folder)
    for name, arguments in (
        ("histogram", {"coefficients": 3}),
        ("phase", {"name": "salt"}),
        ("release", {"groups": ["scale", "background", "cell", "displacement"]}),
        ("refine", {}),
        ("get_pattern_plot", {}),
        ("phase", {"name": "Si"}),
        ("release", {"groups": ["scale"], "phase": "Si"}),
        ("refine", {}),
        ("report", {}),
    ):
        answer = call(session, name, arguments)
        assert answer.ok, answer.hint
    report = {**answer.details["report"], "caveats": [], "alternatives": [], "confidence": "low", "summary": "salt"}
    report["phases"][1]["claimed"] = True
    return folder, report


def answered(left, report=None):
    folder, own = left
    files = {"model": folder / "model.json", "trajectory": folder / "trajectory.json"}
    return UpstreamStep("refinement", {"pattern": "one"}, report or own, files)


def test_the_kind_has_its_stages_schemas_and_agent():
    assert [stage.name for stage in KIND.stages] == ["data", "refine", "series", "compare"]
    assert KIND.stage("refine").agents[0].agent({}) == "refinement"
    for stage in KIND.stages:
        document = documents.schema(stage.schema)
        Draft202012Validator.check_schema(document)
        result = document["$defs"]["result"]
        assert set(result["required"]) == set(result["properties"])
    patterns = [{"name": "b"}, {"name": "a"}]
    assert KIND.ranges({"data": {"patterns": patterns}}) == {"pattern": ["b", "a"]}
    with pytest.raises(UserError, match='two are called "a"'):
        KIND.ranges({"data": {"patterns": [*patterns, {"name": "a"}]}})


def test_data_are_one_checked_document(campaign, checked):
    documents.validate(documents.Document(checked.result, campaign[0]), "rietveld/data", "result")
    assert checked.result["counts"] == samples.load(checked.files["sample"]).pattern.intensity.sum()
    assert (checked.result["phases"], checked.result["candidates"]) == (1, 1)


def test_a_pattern_and_its_phase_may_have_one_name(campaign):
    root, definition = campaign
    given = {**definition, "patterns": [{**definition["patterns"][0], "name": "salt"}]}
    about = context("data", given, root / "scratch" / "namesake")
    made = data.run(StepContext("data", {"pattern": "salt"}, given, {}, about.workdir, about.workdir, 1))
    assert made.result["points"] == samples.load(made.files["sample"]).pattern.two_theta_deg.size


def test_an_instrument_file_and_ties_are_in_the_sample(campaign):
    root, definition = campaign
    text = "#GSAS-II instrument parameter file\nType:PXC\nLam:1.5406\nZero:0.0\nPolariz.:0.5\nU:2.0\nV:-2.0\nW:5.0\n"
    (root / "data" / "one.instprm").write_text(text)
    pinned = {"file": "one.instprm", "sha256": hashlib.sha256(text.encode()).hexdigest()}
    ties = [
        {"equal": ["u_iso/salt/Na1", "u_iso/salt/Cl1"]},
        {"sum_of": ["occupancy/salt/Na1", "occupancy/salt/Cl1"], "total": 2},
    ]
    given = {**definition, "instrument": {**pinned, "geometry": "bragg_brentano", "axial": 0.01}, "ties": ties}
    documents.validate(documents.Document(given, root), "rietveld/data", "definition")
    made = data.run(context("data", given, root / "scratch" / "instrument"))
    sample = samples.load(made.files["sample"])
    instrument = sample.instrument
    assert sample.equal_in(["salt"]) == (("u_iso/salt/Na1", "u_iso/salt/Cl1"),)
    assert sample.sums_in(["salt"])[0].total == 2
    assert sample.equal_in(["Si"]) == ()
    assert instrument.profile_w == pytest.approx(5.0 * 8 * np.log(2) * 1e-4)
    assert (instrument.geometry, instrument.axial, instrument.radius_mm) == ("bragg_brentano", 0.01, 200.0)
    wrong = {**given, "instrument": {**pinned, "sha256": "0" * 64}}
    with pytest.raises(UserError, match=r"is not the file that campaign\.yaml pins"):
        data.run(context("data", wrong, root / "scratch" / "instrument"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"patterns": [{"name": "one", "file": "one.xy", "sha256": "0" * 64}]},
            "is not the file that campaign.yaml pins",
        ),
        ({"patterns": [{"name": "one", "file": "two.xy", "sha256": "0" * 64}]}, "there is no such file; put it there"),
        (
            {
                "patterns": [{"name": "one", "file": "two.xy", "sha256": "0" * 64}],
                "source": {"url": "https://127.0.0.1:9/"},
            },
            "could not be downloaded",
        ),
        (
            {
                "patterns": [{"name": "one", "file": "x.xy", "sha256": "0" * 64}],
                "source": {"package": "nowhere", "folder": "x"},
            },
            "package nowhere, which ships x.xy, is not installed",
        ),
    ],
)
def test_data_that_are_not_what_was_signed_are_refused(campaign, change, said):
    root, definition = campaign
    with pytest.raises(UserError, match=said):  # no outcome: with the file, the next call goes on
        data.run(context("data", {**definition, **change}, root / "scratch" / "other"))


def test_a_report_that_is_its_models_stands(left, checked, campaign):
    root = campaign[0]
    upstream = {
        "data": [UpstreamStep("data", {"pattern": "one"}, checked.result, checked.files)],
        "refinement": [answered(left)],
    }
    definition = {"recipe": RECIPE, "sequential": False, "tolerance": 0.001}
    documents.validate(documents.Document(definition, root), "rietveld/refine", "definition")
    done = refine.run(context("refine", definition, root / "scratch" / "refine", upstream))
    documents.validate(documents.Document(done.result, root), "rietveld/refine", "result")
    assert done.result["differences"] == []
    assert done.result["stands"]
    assert done.result["impurities_claimed"] == 1
    assert done.result["least_claimed_significance"] > 5
    assert (done.result["cycles"], done.result["plots_seen"], done.result["whole_plots_seen"]) == (2, 1, 1)
    assert done.files["structure"].read_text().count("data_") == 2
    assert set(done.files) == set(KIND.stage("refine").outputs)
    steps = {"refine": [UpstreamStep("refine", {"pattern": "one"}, done.result, {})]}
    asked = {"parameter": "cell/salt/a", "units": "angstrom"}
    one = compare.run(context("compare", asked, root / "scratch" / "compare", steps)).result
    documents.validate(documents.Document(one, root), "rietveld/compare", "result")
    assert one["value"] == done.result["parameters"]["cell/salt/a"]["value"]
    assert one["interval_low"] < 5.6421 < one["interval_high"]
    both = compare.run(context("compare", asked, root / "scratch" / "compare", {"refine": steps["refine"] * 2})).result
    documents.validate(documents.Document(both, root), "rietveld/compare", "result")
    assert both["value"] is None
    assert both["refusal"].startswith("series: 2 patterns")
    asked = {"parameter": "u_iso/salt/Na1", "units": "angstrom^2"}
    with pytest.raises(EngineFailure, match="u_iso/salt/Na1 was not refined"):
        compare.run(context("compare", asked, root / "scratch" / "compare", steps))


@pytest.fixture(scope="module")
def judged(left, checked, engine):
    """function(report, recipe) -> what does not stand."""
    given = samples.load(checked.files["sample"])
    pattern, kept = model_files.read(left[0] / "model.json", given.pattern)
    cycle = engine.refine(pattern, kept.state, Request(kept.free, limit_s=300))
    trajectory = json.loads((left[0] / "trajectory.json").read_text())

    def judge(report, recipe=RECIPE, way=trajectory):
        typed = from_json(Report, report)
        made = report_check.Checked(
            typed, cycle, kept.state, kept, given, from_json(report_check.Recipe, recipe), 0.001
        )
        return [*made.differences(), *report_check.of_trajectory(typed, from_json(Calls, way))]

    judge.trajectory = trajectory
    return judge


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        (("fit", "rwp_percent"), 5.0, "fit.rwp_percent is 5 in the report and"),
        (("refined", "parameters", 0, "esd"), 0.5, "the esd of"),
        (("fit", "rwp_engine"), "gsas2", "the R factor is of another engine"),
        (("engine",), "gsas2", "engine is gsas2, and it was rietx"),
        (("state",), 1, "the report speaks of state 1"),
        (("state",), 77, "the trajectory has no state 77"),
        (("refined", "count"), 3, "refined.count is 3"),
        (("refined", "parameters", 0, "value"), 99.0, "is 99 in the report"),
        (("phases", 0, "cell", "a", "value"), 5.65, "a of salt is 5.65 in the report"),
        (("phases", 1, "significance"), 50.0, "significance of Si is 50 in the report"),
        (("phases", 1, "weight_fraction"), 0.5, "weight_fraction of Si is 0.5"),
        (("phases", 1, "in_model"), False, "the report says of Si that it is not in the model"),
        (("phases", 1, "role"), "main", "the phase Si is not in the report as it was given"),
        (("plots", 0, "low_deg"), 11.0, "a plot from 11 to"),
        (("fit",), None, "the report gives no fit"),
    ],
)
def test_a_number_that_is_not_the_models_does_not_stand(left, judged, keys, value, said):
    report = copy.deepcopy(left[1])
    assert judged(report) == []
    part = report
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    found = judged(report)
    assert any(said in one for one in found), found


def test_standard_deviations_keep_two_digits(left, judged):
    report = copy.deepcopy(left[1])
    for one in report["refined"]["parameters"]:
        if one["esd"] is not None:
            one["esd"] *= 1.03
    assert judged(report) == []


def test_claims_need_the_recipe(left, judged):
    assert any("says nothing of claims" in one for one in judged(left[1], {}))
    strict = {"candidates": {"claim_significance": 1e6, "absent_below": 3.0}}
    assert any("claimed on less than 1e+06" in one for one in judged(left[1], strict))


def test_a_way_on_which_zero_and_displacement_were_free_does_not_stand(left, judged):
    way = copy.deepcopy(judged.trajectory)
    call_ = next(one for one in reversed(way["calls"]) if one["free"])
    call_["free"].append({"group": "zero", "phase": None, "atom": None})
    assert any("zero" in one and "displacement" in one for one in judged(left[1], way=way))


def test_a_model_that_is_none_is_an_engine_failure(left, checked, tmp_path):
    wrong = tmp_path / "model.json"
    wrong.write_text("{}")
    step = UpstreamStep("refinement", {}, left[1], {"model": wrong, "trajectory": left[0] / "trajectory.json"})
    upstream = {"data": [UpstreamStep("data", {}, checked.result, checked.files)], "refinement": [step]}
    definition = {"recipe": RECIPE, "sequential": False, "tolerance": 0.001}
    with pytest.raises(EngineFailure, match="is no model of a refinement"):
        refine.run(context("refine", definition, tmp_path / "work", upstream))
