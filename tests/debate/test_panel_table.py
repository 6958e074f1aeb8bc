"""The panel before faults in pipelines that it has never seen, from what was measured of them (`bench/trial_faults.py`)."""

import json

import pytest

from . import foreign

CASES = foreign.cases()
MOLECULES = [path.stem for path in sorted((foreign.HERE / "corpus").glob("molecules*.txt"))]
SOUND = [name for name, (base, _, fault) in CASES.items() if name == base and not fault] + MOLECULES
FAULTS = [edit["name"] for edit in foreign.TABLE["faults"]]
LEAST_FAULTS = 20


@pytest.fixture(scope="module")
def table():
    """Every case as it is judged now; not made where tests are only collected."""
    made = foreign.table()
    assert [name for name, row in made["rows"].items() if row["kind"] == "sound"] == SOUND
    return made


def test_most_faults_are_named_at_their_stage_and_sound_pipelines_are_left_in_peace(table):
    totals = table["totals"]
    assert foreign.good(totals), totals
    assert totals["pipelines_with_faults"] == 4
    assert totals["faults"] >= LEAST_FAULTS
    assert totals["later_localised"] >= 5  # of eight that came after the rules


def test_what_the_bounds_were_chosen_on_holds_no_fault_of_the_table():
    assert not {CASES[name][0] for name in FAULTS} & set(foreign.TABLE["frozen"])


def test_the_experts_vote_before_a_run(table):
    before = [row["labels"]["pre"] for row in table["rows"].values()]
    assert all(label != "uncertain" for labels in before for label in labels.values())
    assert {"pass", "fail"} <= {label for labels in before for label in labels.values()}


@pytest.mark.parametrize("name", SOUND)
def test_the_code_of_an_honest_pipeline_is_in_bounds(name, table):
    assert table["rows"][name]["findings"]["pre"] == []


def test_a_pipeline_of_which_nothing_was_measured_is_not_found_guilty():
    (name,) = [name for name in CASES if name == "apr_by_hand_with_bootstrap"]
    base, made, _ = CASES[name]
    seen = json.loads(json.dumps(foreign.evidence(name)))
    for stage in seen["guests"]["guest"]["stages"].values():
        stage.pop("measured", None)
        stage["diagnostics"] = {"windows": {}} if "windows" in stage["diagnostics"] else {}
        stage["energy_components"] = {}
    assert foreign.grave(foreign.panel(base, made, seen)) == []
