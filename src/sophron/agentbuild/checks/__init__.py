"""Computed checks of the rubric of Rietveld refinement (AgentBuild, table II): pure functions of one run."""

__all__ = ["procedure", "refined_model", "report"]
