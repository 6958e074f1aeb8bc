"""From a spec to a plan: agent definitions and their cost, rule overrides, resource requests, profiles."""

__all__ = [
    "campaign_agents", "host_config", "host_plan", "host_step", "host_templates", "plan", "plan_documents", "profiles",
    "resource_limits", "snakemake_error",
]  # fmt: skip
