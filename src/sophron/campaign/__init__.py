"""A campaign from spec to verdict: spec, plan, approval, amendment, criteria, pitfalls, state. No model, no physics."""

__all__ = [
    "approval", "execution", "host_workflow", "planning", "rendering", "report", "review", "scaffold", "skills",
    "snakefile", "spec", "state",
]  # fmt: skip
