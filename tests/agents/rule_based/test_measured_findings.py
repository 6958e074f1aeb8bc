"""The experts find faults in what the harness measured, of a pipeline that states nothing of itself."""

import pytest

from sophron.agents.rule_based.experts import judge_analysis, judge_sampling

WINDOWS = 10
SOUND = {
    "minimum_overlap": 0.12,
    "block_difference_kcal_per_mol": 0.1,
    "samples": [200] * WINDOWS,
    "effective_samples": [300.0] * WINDOWS,
}
PRODUCED = {
    "temperature_k": [299.0, 297.0] * 5,
    "energy_drift_kcal_per_mol_per_ns": [0.1] * WINDOWS,
    "energy_drift_error_kcal_per_mol_per_ns": [0.2] * WINDOWS,
}
FOREIGN = "RATIONALE\nx\nENTRY\nx\nFILE 04_analysis.py\n```python\nV0 = 1660.54\n```\n"


def told(analysed=None, produced=None, pipeline=FOREIGN):
    stages = {
        "3": {"status": "completed", "diagnostics": {}, "measured": {**PRODUCED, **(produced or {})}},
        "4": {
            "status": "completed",
            "delta_g_kcal_per_mol": -1.0,
            "statistical_error_kcal_per_mol": 0.1,
            "convergence_flags": {},
            "energy_components": {},
            "diagnostics": {},
            "measured": {**SOUND, **(analysed or {})},
        },
    }
    guests = {"one": {"stages": stages}}
    task = {"guests": {"one": {"temperature_k": 298.15}}}
    results = {"windows": WINDOWS, "guests": guests}
    return {"mode": "post_benchmark", "results": results, "task": task, "pipeline": pipeline}


def grave(vote):
    return [each["focus"] for each in vote["concerns"] if each["severity"] == "high"]


def test_nothing_is_found_in_a_sound_pipeline():
    assert grave(judge_sampling(told())) == grave(judge_analysis(told())) == []


@pytest.mark.parametrize(
    ("analysed", "produced", "focus", "said"),
    [
        ({"minimum_overlap": 0.01}, {}, "production", "overlap by 0.01"),
        ({"block_difference_kcal_per_mol": -1.8}, {}, "production", "differ from first ones by -1.8"),
        ({"samples": [200] * 9 + [4]}, {}, "production", "holds 4 independent samples"),
        ({}, {"temperature_k": [410.0] * WINDOWS}, "production", "runs at 410 K, not 298 K"),
        ({}, {"energy_drift_kcal_per_mol_per_ns": [9.0] * WINDOWS}, "equilibration", "drifts in 10 of 10 windows"),
    ],
)
def test_each_fault_is_found_with_its_stage(analysed, produced, focus, said):
    vote = judge_sampling(told(analysed, produced))
    assert vote["label"] == "fail"
    assert focus in grave(vote)
    assert any(said in each["text"] for each in vote["concerns"])


def test_a_pipeline_without_a_standard_state_is_found():
    vote = judge_analysis(told(pipeline=FOREIGN.replace("V0 = 1660.54", "RT_KCAL_PER_MOL = 0.6")))
    assert grave(vote) == ["analysis"]
    assert "standard state" in vote["concerns"][0]["text"]
