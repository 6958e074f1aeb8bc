"""The stage simulate: its files, its result, and that the truth is not in what a refinement is given."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from jsonschema import Draft202012Validator

from sophron.interfaces.kind import StepContext
from sophron.records.errors import UserError
from sophron.science.rietveld import pattern, simulate
from sophron.science.rietveld.simulated import series

SCHEMA = Path(__file__).parents[4] / "schemas" / "rietveld" / "simulate.schema.yaml"
DEFINITION = {"engine": "rietx", "series": "ladder", "scans": {"1min": 87, "4h": 14400}}


def context(folder, scan, definition=DEFINITION):
    return StepContext("simulate", {"scan": scan}, definition, {}, folder, folder, seed=5)


@pytest.fixture(scope="module")
def done(engine, tmp_path_factory):
    return simulate.run(context(tmp_path_factory.mktemp("simulate"), "1min"))


def test_definition_and_result_fit_their_schema(done):
    schema = yaml.safe_load(SCHEMA.read_text())
    for name, data in (("definition", DEFINITION), ("result", done.result)):
        Draft202012Validator({**schema, "$ref": f"#/$defs/{name}"}).validate(data)
    assert done.result["simulated"] is True
    assert done.result["title"] == "Simulated LLZO count-time ladder, 87 s, seed 5"
    assert done.tools == {"rietx": "1.10.0"}


def test_the_counts_are_those_of_the_seed(done, ladder, engine):
    wanted = series.scan(ladder, 87, 5)
    read = pattern.read(done.files["pattern"], engine)
    assert np.array_equal(read.intensity, wanted.intensity)
    assert read.two_theta_deg == pytest.approx(wanted.two_theta_deg, abs=1e-4)
    assert done.result["counts"] == wanted.intensity.sum()


def test_a_refinement_is_given_the_model_and_not_the_truth(done):
    given = json.loads(done.files["sample"].read_text())
    assert [(one["name"], one["role"]) for one in given["phases"]] == [("LLZO", "main"), ("La2Zr2O7", "candidate")]
    cif = given["phases"][0]["cif"]
    assert "_cell_length_a 12.9361" in cif
    assert "Ta1 Ta 0 0 0 0.3" in cif
    assert "12.94" not in cif
    assert given["instrument"]["displacement_mm"] == 0.0
    assert given["instrument"]["profile_x"] == 0.01
    truth = json.loads(done.files["truth"].read_text())
    assert truth["cell_angstrom"] == 12.94
    assert truth["weight_fractions"]["La2Zr2O7"] == 0.001


def test_a_scan_that_there_is_not(tmp_path):
    with pytest.raises(UserError, match='there is no "2h"; add it'):
        simulate.run(context(tmp_path, "2h"))
