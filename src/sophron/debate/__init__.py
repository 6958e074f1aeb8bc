"""Debate: what several experts say of a pipeline, weighed into one critique; asks no model."""
