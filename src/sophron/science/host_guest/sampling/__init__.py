"""Sampling windows with OpenMM: equilibration, steps, replica exchange, and the samples kept."""

__all__ = [
    "equilibration", "npz", "openmm_system", "platform", "potentials", "replica_exchange_block", "samples",
    "window_sampling",
]  # fmt: skip
