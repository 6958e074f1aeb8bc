"""The spec of a campaign: `campaign.yaml`, its criteria, pitfalls, resources, and the question it asks."""

__all__ = [
    "columns", "criteria", "criteria_review", "engines", "mutation", "pitfalls", "plausible_values", "question",
    "resource_requests", "satisfiability", "scope_exclusions", "spec",
]  # fmt: skip
