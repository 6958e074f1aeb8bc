import json
from pathlib import Path

import pytest

from sophron.records.documents import Document, faults
from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.host_guest import stage_file_api


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def left(folder, stage):
    document = json.loads((folder / f"stage_{stage:02d}_result.json").read_text())
    assert faults(Document(document, Path("result")), "debate/stage_result") == []
    return document


def test_a_stage_that_ends_well_leaves_a_valid_result(here):
    with stage_file_api.reporting(1) as account:
        account.diagnostics["atoms"] = 2
    assert left(here, 1)["status"] == "completed"


def test_a_crash_is_written_before_it_goes_on(here):
    with pytest.raises(RuntimeError), stage_file_api.reporting(2):
        raise RuntimeError("no such file")
    document = left(here, 2)
    assert document["status"] == "failed"
    assert document["failure"] == {"kind": "RuntimeError", "sentence": "no such file"}


def test_a_refusal_is_a_result_without_a_number(here):
    with stage_file_api.reporting(4) as account:
        account.delta_g_kcal_per_mol = -3.0
        raise stage_file_api.Refused(Refusal(Reason.NO_OVERLAP, "windows 3 and 4 do not overlap.", (3, 4)))
    document = left(here, 4)
    assert (document["status"], document["delta_g_kcal_per_mol"]) == ("refused", None)
    assert document["failure"] == {
        "kind": "no_overlap",
        "sentence": "windows 3 and 4 do not overlap.",
        "windows": [3, 4],
    }


def test_an_analysis_without_errors_is_no_valid_result(here):
    with stage_file_api.reporting(4) as account:
        account.delta_g_kcal_per_mol = -3.0
    document = json.loads((here / "stage_04_result.json").read_text())
    assert faults(Document(document, Path("result")), "debate/stage_result")


def test_what_is_no_number_is_null(here):
    with stage_file_api.reporting(4) as account:
        account.delta_g_kcal_per_mol = float("nan")
    assert json.loads((here / "stage_04_result.json").read_text())["delta_g_kcal_per_mol"] is None


def test_a_variable_that_is_not_set_is_named(here, monkeypatch):
    monkeypatch.delenv("SOPHRON_NS_PER_WINDOW", raising=False)
    with pytest.raises(ValueError, match="SOPHRON_NS_PER_WINDOW"):
        stage_file_api.ns_per_window()
