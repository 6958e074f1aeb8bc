"""The review as one self-contained HTML page, readable with 10,000 steps: grouped by stage and rule, folded, capped."""

from collections.abc import Sequence

from sophron.campaign.planning.campaign_agents import AT_THE_CAP
from sophron.campaign.planning.plan import PlannedStep
from sophron.campaign.rendering import html, stage_graph_svg
from sophron.campaign.rendering.formatting import hours, short
from sophron.campaign.review import host_rules
from sophron.campaign.review.review import Review, StagePlan
from sophron.campaign.spec import criteria_review
from sophron.records.sanitize import hides

LISTED = 40
STATUS_ORDER = ("hit", "unknown", "clear")


def render(review: Review) -> str:
    """Return the page."""
    plan, spec = review.proposal.plan, review.spec
    return html.render(
        "review.html.j2",
        {
            "review": review,
            "plan": plan,
            "spec": spec,
            "data": spec.data,
            "labels": criteria_review.labels,
            "signed_numbers": criteria_review.signed_numbers,
            "hides": hides(spec.data),
            "picture": html.picture(stage_graph_svg.svg(_nodes(review), f"Stages of {spec.campaign}")),
            "findings": sorted(review.findings, key=lambda one: STATUS_ORDER.index(one[1].status)),
            "listed": _listed(review),
            "host": host_rules.of_review(review),
            "at_the_cap": AT_THE_CAP,
            "listing": f"approvals/plans/{plan.listing_hash}.steps",
        },
    )


def _nodes(review: Review) -> list[stage_graph_svg.Node]:
    waiting = {one.stage for one in review.waiting}
    names = {name for stage in review.spec.stages for name in stage.depends_on}
    nodes = []
    for stage in review.stages:
        notes = [_counted(stage), f"≤ {hours(stage.core_hours)} core-hours"]
        if stage.mechanical:
            needs = review.spec.stage(stage.name).depends_on
            title = f"{stage.name}, definition {short(review.spec.definition_digest(stage.name))}"
        else:  # the report looks at every verdict; edges from the last stages say enough
            needs = tuple(one.name for one in review.spec.stages if one.name not in names)
            title = stage.name
        status = "planned" if stage.name in waiting else "finished"
        if review.proposal.amendment and stage.name in review.proposal.amendment.invalidated_stages:
            status = "invalidated"
        nodes.append(stage_graph_svg.Node(stage.name, needs, notes, status, title))
    return nodes


def _counted(stage: StagePlan) -> str:
    own = stage.rules.get(stage.name, 0)
    return f"{own:,} step" if own == 1 else f"{own:,} steps"


def _listed(review: Review) -> list[tuple[str, str, Sequence[PlannedStep], int]]:
    """(stage, rule, the first steps, how many more)."""
    return [
        (stage, rule, steps[:LISTED], max(0, len(steps) - LISTED))
        for (stage, rule), steps in review.steps_by_rule.items()
    ]
