"""Binding free energies of host-guest complexes, and exact systems to test their path with."""

from sophron.records import renamed_modules

__all__ = [
    "openmm_engine", "pipeline_api", "pipelines", "preparation", "protocols", "sampling", "systems", "task_metadata",
]  # fmt: skip

__getattr__ = renamed_modules.of_package(__name__)
