"""From a spec to a plan: agent definitions and their cost, rule overrides, resource requests, profiles."""
