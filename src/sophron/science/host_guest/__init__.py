"""Binding free energies of host-guest complexes, and exact systems to test their path with."""

__all__ = [
    "openmm_engine", "pipeline_api", "pipelines", "preparation", "protocols", "sampling", "systems", "task_metadata",
]  # fmt: skip

from sophron.records import old_names

__getattr__ = old_names.former_modules(__name__)
