from pathlib import Path

from sophron.agents.step import agent_step, conversation
from sophron.agents.step.agent_step import AgentStep
from sophron.campaign.planning import campaign_agents

CHOICES = {"spec_stage": {"mechanical": {"choices": {"memory_mb": [2000, 4000]}}}}


def debug(action="overlay", overlay=None, kind="mechanical"):
    return {"diagnosis": "x", "action": action, "overlay": overlay, "class": kind}


def test_an_explanation_can_never_turn_fail_into_pass():
    inputs = {"verdict": {"stage": "produce", "verdict": "fail"}}
    assert (
        conversation.guardrail_faults("explain", inputs, {"stage": "produce", "verdict": "fail", "explanation": "x"})
        == []
    )
    (fault,) = conversation.guardrail_faults(
        "explain", inputs, {"stage": "produce", "verdict": "pass", "explanation": "x"}
    )
    assert "the verdict says fail" in fault
    assert "`next`" in fault, "a repaired verdict wants another next step"


def test_a_plan_lists_each_stage_of_the_spec():
    inputs = {"spec": {"stages": {"build": {}, "relax": {}}}}
    assert conversation.guardrail_faults("plan", inputs, {"stages": [{"id": "relax"}, {"id": "build"}]}) == []
    for stages in ([{"id": "build"}], [{"id": "build"}, {"id": "relax"}, {"id": "relax"}]):
        (fault,) = conversation.guardrail_faults("plan", inputs, {"stages": stages})
        assert "list each of build, relax once" in fault


def test_a_mechanical_change_is_one_of_the_signed_choices():
    assert conversation.guardrail_faults("debug", CHOICES, debug(overlay={"key": "memory_mb", "value": 4000})) == []
    for overlay in ({"key": "memory_mb", "value": 8000}, {"key": "ranks", "value": 2}):
        assert "signed choices" in conversation.guardrail_faults("debug", CHOICES, debug(overlay=overlay))[0]


def test_a_definitional_fault_changes_nothing():
    overlay = {"key": "memory_mb", "value": 4000}
    assert any(
        "escalated" in fault
        for fault in conversation.guardrail_faults("debug", CHOICES, debug(overlay=overlay, kind="definitional"))
    )
    assert conversation.guardrail_faults("debug", CHOICES, debug("escalate", kind="definitional")) == []


def test_an_overlay_and_the_action_overlay_go_together():
    assert conversation.guardrail_faults(
        "debug", CHOICES, debug("retry", {"key": "memory_mb", "value": 4000}, "transient")
    )
    assert conversation.guardrail_faults("debug", CHOICES, debug("overlay", None))


def test_resume_is_checked_against_the_state():
    running = [{"step": "produce-0", "pid": 7, "host": "here"}]
    stages = [
        {"id": "build", "status": "completed", "running_process": []},
        {"id": "produce", "status": "in_progress", "running_process": running},
        {"id": "analyse", "status": "pending", "running_process": []},
    ]
    inputs = {"state": {"stages": stages, "running_process": []}}
    good = {"ran": ["build"], "running": ["produce"], "processes": [{"step": "produce-0"}], "next": ["analyse"]}
    assert conversation.guardrail_faults("resume", inputs, good) == []
    wrongs = ({"ran": ["build", "produce"]}, {"ran": []}, {"running": []}, {"next": ["ghost"]}, {"next": ["build"]})
    for wrong in (*wrongs, {"processes": [{"step": "other"}]}):
        assert conversation.guardrail_faults("resume", inputs, good | wrong), wrong


def test_restart_files_are_chosen_among_the_whole_ones():
    files = {name: {"step": "p-0", "file": name} for name in "abc"}
    inputs = {"restarts": [files["a"] | {"valid": False}, files["b"] | {"valid": True}]}
    good = {"kept": [files["b"]], "pruned": [files["a"]], "chosen": {"p-0": {"file": "b"}}}
    assert conversation.guardrail_faults("checkpoint-management", inputs, good) == []
    for wrong in (
        {"chosen": {"p-0": {"file": "a"}}},
        {"chosen": {"p-1": {"file": "b"}}},
        {"pruned": [files["c"]]},
        {"pruned": [files["b"]]},
        {"kept": []},
    ):
        assert conversation.guardrail_faults("checkpoint-management", inputs, good | wrong), wrong


def test_a_drafted_spec_must_be_one():
    empty = {"draft": None}
    assert conversation.guardrail_faults("design", {}, empty) == []
    assert "question" in conversation.guardrail_faults("design", {}, {"draft": {"kind": "viscosity"}})[0]


def test_a_summary_is_one_line():
    assert conversation.summary({"diagnosis": "two\nlines", "reason": "other"}) == "two lines"
    assert len(conversation.summary({"text": "x" * 1000})) == conversation.LONGEST_SUMMARY


def test_evidence_is_quoted_from_the_inputs():
    inputs = CHOICES | {"failed": {"reasons": {"b-0": "it was   killed"}}, "log": "Step 0 1\nERROR: Lost atoms\n"}

    def faults(*evidence, given=inputs):
        return conversation.guardrail_faults("debug", given, debug("escalate") | {"evidence": list(evidence)})

    assert faults("ERROR: Lost atoms", "it was killed", "Step 0  1", "ERROR: Lost…") == []
    (fault,) = faults("ERROR: Lost atoms", "ERROR: Lost bonds")
    assert '"ERROR: Lost bonds" stands in none of the inputs' in fault
    before = {key: value for key, value in inputs.items() if key != "failed"}
    assert faults("anything", given=before) == [], "recorded answers to a definition of before are replayed"


def test_an_answer_in_the_wrong_form_is_told_all_that_is_wrong_with_it():
    agent = campaign_agents.find_agent(None, "plan")
    step = AgentStep(Path(), "plan", agent, "", {"spec": {"stages": {"build": {}, "relax": {}}}}, Path())
    stages = [{"id": "build"}]
    faults = agent_step.faults(step, {"stages": stages, "cost": {}, "warnings": []})
    assert any("core_hours" in fault for fault in faults)
    assert any("list each of build, relax once" in fault for fault in faults)
    assert agent_step.faults(step, {"stages": 7}), "what cannot be read is refused by its schema"
