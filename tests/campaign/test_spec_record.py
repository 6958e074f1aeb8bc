from sophron.campaign.planning.plan import Plan, PlannedStep
from sophron.campaign.planning.plan_documents import record_spec
from sophron.campaign.spec import spec
from sophron.campaign.state import projector
from sophron.records import documents, events
from sophron.records.files import resource
from sophron.records.typed_json import to_json


def test_a_signed_spec_is_recorded_once_with_its_documents(tmp_path):
    melt = spec.load(resource("campaigns", "kg-melt-viscosity", "campaign.yaml"))
    steps = [
        PlannedStep(stage.name, "sophron stage", melt.definition_digest(stage.name), wildcards)
        for stage in melt.stages
        for wildcards in melt.steps(stage.name)
    ]
    plan = Plan(melt, tuple(steps))
    for _ in "12":
        record_spec(tmp_path, melt, plan)
    (event,), _ = events.read(tmp_path)
    documents.validate(documents.Document(event, tmp_path / events.FILE), "event")
    now = projector.project(tmp_path)
    documents.validate(documents.Document(now, tmp_path / projector.NAME), "workflow-state")
    assert (now["workflow_id"], now["version"], now["spec_digest"]) == (melt.campaign, melt.version, melt.digest)
    assert {one["id"]: one["depends_on"] for one in now["stages"]} == {
        stage.name: list(stage.depends_on) for stage in melt.stages
    }
    assert sum(one["steps"] for one in now["stages"]) == len(steps)
    assert all(one["parameters"] == melt.definition(one["id"]) for one in now["stages"])
    assert all(one["success_criteria"] == to_json(melt.criteria(one["id"])) for one in now["stages"])
    assert plan.hash in (tmp_path / now["workflow_plan"]).read_text()
    assert melt.data["question"]["quantity"] in (tmp_path / now["experiment_design"]).read_text()
