"""Debate: what several experts say of a pipeline, weighed into one critique; asks no model."""

__all__ = ["panel", "pipelines", "screening", "trials"]
