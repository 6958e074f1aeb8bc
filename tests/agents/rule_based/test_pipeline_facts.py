"""Facts of code that the experts judge before a run: found where an edit of a sound pipeline makes them wrong."""

import pytest

from sophron.agents.rule_based import pipeline_facts
from sophron.agents.rule_based.experts import judge_analysis, judge_force_field, judge_sampling
from sophron.science.host_guest.pipelines import reference_pipelines

SOUND = {"particles": reference_pipelines.lj_dimer(), "molecules": reference_pipelines.apr()}
ADDED = {
    "force_field": ["KJ_PER_KCAL = 4.184\nGAS_CONSTANT_KCAL_PER_MOL_K = 8.31446 / 4184.0\nNM_PER_A = 1 / 10"],
    "sampling": [
        "TIMESTEP_FS = 4.0\nSETTLE_STEPS = 5000",
        "def f(t):\n    return LangevinMiddleIntegrator(t, 1.0, 0.004)",
    ],
    "analysis": ["LEAST_OVERLAP = 0.03", "def f(windows):\n    return [each for each in range(len(windows))]"],
}
WRONG = {
    "force_field": ["KJ_PER_KCAL = 4.148", "NM_PER_A = 10.0", 'def f(task):\n    return 0.9 * task["epsilon_kcal_per_mol"]'],
    "sampling": [
        "MASS_AMU = 10.0\nWALL_KCAL_PER_MOL_A2 = 50.0\nTIMESTEP_PS = 0.02",
        "SETTLE_STEPS = 0",
        "def f():\n    return LangevinMiddleIntegrator(300.0, 1.0, 0.004)",
        "def f(t):\n    return LangevinMiddleIntegrator(1.3 * t, 1.0, 0.004)",
    ],
    "analysis": ["LEAST_OVERLAP = 0.001", "def f(windows):\n    return [each for each in range(0, len(windows), 2)]"],
}  # fmt: skip


def put(code, file="04_analysis.py", pipeline=SOUND["particles"]):
    head, opening, rest = pipeline.partition(f"FILE {file}\n```python\n")
    return head + opening + rest.replace("\n\ndef main", f"\n\n{code}\n\n\ndef main", 1)


@pytest.mark.parametrize("form", SOUND)
@pytest.mark.parametrize("subject", pipeline_facts.FACTS)
def test_our_own_pipelines_are_in_bounds(form, subject):
    assert len(pipeline_facts.read(SOUND[form])) == 4
    assert pipeline_facts.findings(SOUND[form], subject) == []


@pytest.mark.parametrize(("subject", "code"), [(subject, code) for subject, each in ADDED.items() for code in each])
def test_right_facts_are_no_findings(subject, code):
    assert pipeline_facts.findings(put(code), subject) == []


@pytest.mark.parametrize(("subject", "code"), [(subject, code) for subject, each in WRONG.items() for code in each])
def test_wrong_facts_are_found_in_their_file(subject, code):
    found = pipeline_facts.findings(put(code), subject)
    assert [each.suspect for each in found] == ["04_analysis.py"]


def test_constants_that_files_do_not_share_are_found_and_roundings_are_not():
    once = put("MASS_AMU = 10.0", "03_production.py")
    assert pipeline_facts.findings(put("MASS_AMU = 10.01", pipeline=once), "force_field") == []
    (found,) = pipeline_facts.findings(put("MASS_AMU = 20.0", pipeline=once), "force_field")
    assert (found.focus, found.suspect) == ("analysis", "04_analysis.py")


def test_a_standard_state_that_is_only_defined_is_none():
    made = "\n".join(
        f"FILE {file}\n```python\nSTANDARD_VOLUME_A3 = 1e27 / 6.02214076e23\n```" for file in pipeline_facts.FOCUS
    )
    assert [each.focus for each in pipeline_facts.findings(f"x\n{made}", "analysis")] == ["analysis"]
    used = made + "\nFILE 04_analysis.py\n```python\nV = 1660.54\nX = V * 2\n```"
    assert pipeline_facts.findings(f"x\n{used}", "analysis") == []


@pytest.mark.parametrize("judge", [judge_analysis, judge_force_field, judge_sampling])
def test_each_expert_votes_before_a_run(judge):
    told = {"mode": "pre", "results": {}, "pipeline": SOUND["particles"]}
    assert judge(told)["label"] == "pass"
    assert judge({**told, "pipeline": ""})["label"] == "uncertain"
    assert judge({**told, "pipeline": "FILE 01_prep.py\n```python\n(\n```"})["label"] == "uncertain"


def test_a_fault_of_the_code_is_a_fail_before_a_run():
    told = {"mode": "pre", "results": {}, "pipeline": put("SETTLE_STEPS = 0", "02_equilibrate.py")}
    vote = judge_sampling(told)
    assert (vote["label"], vote["concerns"][0]["focus"]) == ("fail", "equilibration")
