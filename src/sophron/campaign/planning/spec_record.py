"""A spec becomes the campaign's: its documents are written and committed, and the record says so."""

from dataclasses import asdict
from pathlib import Path

from sophron.campaign.planning import plan_documents
from sophron.campaign.planning.plan import Plan
from sophron.campaign.spec.spec import Spec
from sophron.campaign.state import projector
from sophron.records import events


def record_spec(root: Path, spec: Spec, plan: Plan) -> None:
    """Called where a version is signed; the documents follow the plan, the event is for another spec only."""
    counts = [{"stage": stage, "rule": rule, "steps": steps} for (stage, rule), steps in plan.counts().items()]
    summary = {
        "hash": plan.hash,
        "counts": counts,
        "core_hours": plan.core_hours(),
        "envelope": plan.envelope(),
    }
    plan_documents.write_documents(root, plan_documents.documents(spec.data, summary))
    plan_documents.commit_documents(root)
    if projector.project(root)["spec_digest"] == spec.digest:
        return
    stages = [
        {
            "id": stage.name,
            "depends_on": list(stage.depends_on),
            "parameters": dict(spec.definition(stage.name)),
            "success_criteria": [asdict(criterion) for criterion in spec.criteria(stage.name)],
            "steps": len(spec.steps(stage.name)),
        }
        for stage in spec.stages
    ]
    events.append(
        root,
        "sophron",
        "spec_loaded",
        workflow_id=spec.campaign,
        version=spec.version,
        digest=spec.digest,
        stages=stages,
        experiment_design=plan_documents.DESIGN,
        workflow_plan=plan_documents.PLAN,
    )
    projector.project(root)
