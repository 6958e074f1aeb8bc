"""Computed checks of the rubric of Rietveld refinement (AgentBuild, table II): pure functions of one run."""

__all__ = ["chemistry", "cycles", "fit", "phases", "plots_viewed", "procedure", "report_structure", "scope"]
