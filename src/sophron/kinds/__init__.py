"""Kinds of campaigns, one package a kind: its stages, the inputs of its agents, and sections of its report."""

__all__ = [
    "agent_build", "chain_conformation", "conductivity", "host_guest", "rietveld", "screen", "sequence_bo", "task",
    "viscosity", "workflow",
]  # fmt: skip
