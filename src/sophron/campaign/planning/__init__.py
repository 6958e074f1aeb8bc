"""From a spec to a plan: agent definitions and their cost, rule overrides, resource requests, profiles."""

__all__ = [
    "agent_costs", "agent_definitions", "agent_rules", "plan", "plan_documents", "profiles", "resource_requests",
    "rule_overrides", "spec_record",
]  # fmt: skip
