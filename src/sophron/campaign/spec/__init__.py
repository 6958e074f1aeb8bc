"""The spec of a campaign: `campaign.yaml`, its criteria, pitfalls, resources, and the question it asks."""

__all__ = [
    "criteria", "criteria_review", "engines", "mutation", "pitfalls", "question", "resource_requests", "satisfiability",
    "scope_exclusions", "spec",
]  # fmt: skip
