"""Plan, resume and checkpoint-management: what they say follows from plan, state and restart files."""

from agent_inputs import LIQUID, fitting, melt

from sophron.agents.rule_based import checkpoint_management, plan, resume


def planned(spec=LIQUID, **changes):
    counts = [{"stage": name, "rule": name, "steps": 2} for name in spec["stages"]]
    about = {"counts": counts, "core_hours": dict.fromkeys(spec["stages"], 1.5), "excess": []} | changes
    return fitting(plan.answer({"spec": spec, "plan": about}), "plan")


def test_plan_copies_ceilings_and_adds_costs():
    said = planned()
    assert [stage["id"] for stage in said["stages"]] == list(LIQUID["stages"])
    assert said["stages"][0]["resources"] == {"cores": 1, "memory_mb": 2000, "runtime_min": 10, "tries": 3}
    assert said["cost"] == {"core_hours": 7.5, "core_hours_limit": 60, "steps": 10, "steps_limit": None}
    assert said["warnings"] == []


def test_plan_orders_stages_however_the_spec_lists_them():
    spec = {**LIQUID, "stages": dict(reversed(LIQUID["stages"].items()))}
    assert [stage["id"] for stage in planned(spec)["stages"]] == list(LIQUID["stages"])


def test_plan_warns():
    spec = melt()
    spec["stages"]["build"]["mechanical"] |= {"retries": 0}
    spec["stages"]["relax"]["mechanical"] |= {"memory_mb": 2000, "runtime_min": 30}
    spec["method"]["assumptions"][0]["status"] = "UNVERIFIED"
    said = planned(spec, excess=["limits.steps: too many"], core_hours={"produce": 650.0})
    text = "\n".join(said["warnings"])
    for part in (
        "limits.steps",
        "produce may take 650",
        "build has no retries",
        "relax may be tried again",
        "UNVERIFIED",
    ):
        assert part in text


STATE = {
    "workflow_status": "in_progress",
    "waiting_gate": None,
    "next_command": "snakemake",
    "last_refusal": None,
    "draft": None,
    "running_process": [],
    "stages": [
        {"id": "build", "depends_on": [], "status": "completed", "running_process": []},
        {
            "id": "relax",
            "depends_on": ["build"],
            "status": "in_progress",
            "running_process": [{"step": "relax-replica=1", "pid": 17, "host": "n3"}],
        },
        {"id": "shear", "depends_on": ["build"], "status": "pending", "running_process": []},
        {"id": "produce", "depends_on": ["relax"], "status": "pending", "running_process": []},
    ],
}


def resumed(**changes):
    return fitting(resume.answer({"state": STATE | changes, "progress": "", "init": ""}), "resume")


def test_resume_reads_the_state():
    said = resumed()
    assert (said["ran"], said["running"], said["next"]) == (["build"], ["relax"], ["shear"])
    assert said["processes"] == [{"step": "relax-replica=1", "stage": "relax", "host": "n3", "pid": 17}]
    assert said["command"] == "snakemake"


def test_resume_knows_who_is_waited_for():
    assert "amend" in resumed(waiting_gate="amend", draft={"version": 2})["waiting_for"]
    assert "refused" in resumed(last_refusal={"reason": "x"})["waiting_for"]
    stages = [{**stage, "running_process": [], "status": "failed"} for stage in STATE["stages"]]
    assert "failed" in resumed(stages=stages)["waiting_for"]
    assert resumed(stages=[], next_command=None)["waiting_for"].startswith("nothing")


def restart(step, order, *, valid=True):
    return {"step": step, "file": f"r{order}.restart", "bytes": 10, "order": order, "valid": valid}


def checked(restarts, keep=2):
    return fitting(
        checkpoint_management.answer({"restarts": restarts, "policy": {"keep": keep}}), "checkpoint-management"
    )


def test_the_last_written_whole_files_stay():
    said = checked([restart("a", 1), restart("a", 4, valid=False), restart("a", 2), restart("a", 3), restart("b", 1)])
    assert said["kept"] == [
        {"step": "a", "file": "r3.restart"},
        {"step": "a", "file": "r2.restart"},
        {"step": "b", "file": "r1.restart"},
    ]
    assert [one["file"] for one in said["pruned"]] == ["r4.restart", "r1.restart"]
    assert said["chosen"] == {"a": {"file": "r3.restart"}, "b": {"file": "r1.restart"}}


def test_a_step_without_a_whole_file_keeps_all():
    said = checked([restart("a", 1, valid=False), restart("a", 2, valid=False)])
    assert (len(said["kept"]), said["pruned"], said["chosen"]) == (2, [], {})
    assert "1 steps" in said["reason"]


def test_the_last_file_is_never_pruned():
    assert checked([restart("a", 1), restart("a", 2)], keep=0)["kept"] == [{"step": "a", "file": "r2.restart"}]
