"""Binding free energies of host-guest complexes, and exact systems to test their path with."""

__all__ = [
    "openmm_engine", "pipeline_api", "pipelines", "preparation", "protocols", "sampling", "systems", "task_metadata",
]  # fmt: skip
