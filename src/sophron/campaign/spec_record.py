"""A spec becomes the campaign's: its documents are written and committed, and the record says so."""

from pathlib import Path

from sophron.campaign import documents, state
from sophron.campaign.plan import Plan
from sophron.campaign.spec import Spec
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
    documents.write_documents(root, documents.documents(spec.data, summary))
    documents.commit_documents(root)
    if state.project(root)["spec_digest"] == spec.digest:
        return
    stages = [
        {
            "id": stage.name,
            "depends_on": list(stage.depends_on),
            "parameters": dict(spec.definition(stage.name)),
            "success_criteria": [dict(criterion) for criterion in spec.criteria(stage.name)],
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
        experiment_design=documents.DESIGN,
        workflow_plan=documents.PLAN,
    )
    state.project(root)
