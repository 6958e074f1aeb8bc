"""Amend: a pitfall's own amendment, the square-root law, or nothing; the drafts are valid specs."""

import copy

import pytest
import yaml
from agent_inputs import LIQUID, MELT, PITFALLS, fitting, judged, verdict

from sophron.agents.rule_based.amend import answer
from sophron.campaign.spec import spec as specs


def amend(failure, *, spec=MELT, stage="green_kubo", pitfalls=PITFALLS, diagnosis=None):
    inputs = {
        "spec": spec,
        "stage": stage,
        "failure": failure,
        "diagnosis": diagnosis or {},
        "pitfalls": pitfalls,
        "schemas": {},
        "kind": spec["kind"],
    }
    return fitting(answer(inputs), "amend")


def missed(name, value, limit):
    one = judged("error", f"{name} < {limit}", value, limit, passed=False)
    return {"kind": "verdict", "reasons": {}, "verdict": verdict(one), "tries": [], "log": ""}


def applied(spec, changes):
    """The spec with the changes, as `sophron amend` makes them."""
    changed = copy.deepcopy(spec)
    for change in changes:
        *keys, last = change["path"].split(".")
        place = changed
        for key in keys:
            place = place[int(key)] if isinstance(place, list) else place[key]
        if "value" in change:
            place[last] = change["value"]
        else:
            del place[last]
    return changed


def test_an_error_missed_by_two_takes_four_times_the_steps_and_a_reserve(tmp_path):
    said = amend(missed("viscosity_relative_error", 0.12, 0.06))
    changes = {one["path"]: one["value"] for one in said["changes"]}
    steps = changes["stages.produce.definition.steps"]
    assert 4 * 1_600_000 < steps < 5 * 1_600_000
    assert steps % 100_000 == 0
    assert not [path for path in changes if "criteria" in path]  # samples are counted by the definition
    assert said["invalidated_stages"] == ["produce", "green_kubo", "rouse", "cross_check"]
    path = tmp_path / "campaign.yaml"
    path.write_text(yaml.safe_dump(applied(MELT, said["changes"])))
    assert specs.load(path).definition("produce")["steps"] == steps


def test_the_stage_that_samples_is_found_below():
    said = amend(missed("temperature_uncertainty", 0.006, 0.003), spec=LIQUID, stage="equilibrate")
    assert said["changes"][0]["path"] == "stages.equilibrate.definition.steps"
    assert said["invalidated_stages"] == ["equilibrate", "produce", "green_kubo"]


@pytest.mark.parametrize("reason", ["window_too_short", "run_too_short", "noise", "no_relaxation"])
def test_a_refused_plateau_asks_for_longer_runs(reason):
    one = judged("plateau", "cutoff_ratio >= 3", None, 3, passed=False)
    failure = {"kind": "verdict", "verdict": verdict(one), "outcome": {"result": {"refusal": f"{reason}: so it is"}}}
    paths = [change["path"] for change in amend(failure)["changes"]]
    assert "stages.produce.definition.steps" in paths
    assert ("stages.green_kubo.definition.max_lag_tau" in paths) == (reason == "window_too_short")


@pytest.mark.parametrize(
    "failure",
    [
        missed("viscosity_relative_error", 6.0, 0.06),  # a hundred times: another method, not more of this one
        {"kind": "dead", "reasons": {"produce-1": "killed"}, "log": ""},
        {
            "kind": "verdict",
            "verdict": verdict(judged("t", "abs(temperature_mean - 1.0) < 0.01", 0.5, 0.01, passed=False)),
        },
        {
            "kind": "verdict",
            "verdict": verdict(
                judged("error", "viscosity_relative_error < 0.06", 0.1, 0.06, passed=False),
                judged("drift", "abs(energy_drift) < 0.01", 3.0, 0.01, passed=False),
            ),
        },
        {"kind": "verdict", "outcome": {"result": {"refusal": "undersampled: the first lag holds half of it"}}},
    ],
)
def test_otherwise_a_person_decides(failure):
    said = amend(failure)
    assert said["changes"] == []
    assert said["invalidated_stages"] == []
    assert "person must decide" in said["rationale"]


def test_no_criterion_is_loosened():
    for value in (0.07, 0.1, 0.3):
        for change in amend(missed("viscosity_relative_error", value, 0.06))["changes"]:
            assert not change["path"].startswith("stages.green_kubo.criteria")


HEAT = {
    "id": "many-body-heat-flux",
    "title": "Heat flux",
    "safeguard": "Impose the flux.",
    "applies_to": {"when": [{"mentions": ["heat_flux"]}]},
    "amendment": {
        "signs": ["does not support compute"],
        "rationale": "An imposed flux needs no stress of single atoms.",
        "method_name": "Mueller-Plathe",
        "remove_stages": ["heat", "kappa"],
        "add_stages": {"swap": {"depends_on": ["build"], "definition": {}, "criteria": [], "mechanical": {}}},
        "changes": [{"path": "method.heat_flux"}],
    },
}
CRYSTAL = {
    "kind": "conductivity",
    "method": {"name": "Green-Kubo", "heat_flux": {"compute": "centroid/stress/atom"}, "assumptions": []},
    "stages": {
        "build": {"depends_on": [], "definition": {}, "criteria": [], "mechanical": {}},
        "heat": {"depends_on": ["build"], "definition": {"heat_flux": {}}, "criteria": [], "mechanical": {}},
        "kappa": {"depends_on": ["heat"], "definition": {}, "criteria": [], "mechanical": {}},
    },
}
STOPPED = {"kind": "outcome", "reasons": {"heat": "ERROR: Pair style does not support compute centroid/stress/atom"}}


def test_a_pitfall_brings_its_amendment():
    said = amend(STOPPED, spec=CRYSTAL, stage="heat", pitfalls=[HEAT])
    assert [change["path"] for change in said["changes"]] == [
        "stages.heat", "stages.kappa", "stages.swap", "method.name", "method.heat_flux",
    ]  # fmt: skip
    assert [change["path"] for change in said["changes"] if "value" not in change] == [
        "stages.heat", "stages.kappa", "method.heat_flux",
    ]  # fmt: skip
    assert said["invalidated_stages"] == ["heat", "kappa"]


def test_a_pitfall_without_its_sign_is_left_alone():
    assert amend({"kind": "dead", "reasons": {}}, spec=CRYSTAL, stage="heat", pitfalls=[HEAT])["changes"] == []
