"""The spec of a campaign: `campaign.yaml`, its criteria, pitfalls, resources, and the question it asks."""

__all__ = [
    "amendment_draft", "criteria", "criteria_review", "engines", "mutation", "pitfalls", "published_value", "question",
    "satisfiability", "scope_exclusions", "spec", "stage_resources",
]  # fmt: skip
