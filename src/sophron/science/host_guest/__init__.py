"""Binding free energies of host-guest complexes, and exact systems to test their path with."""

__all__ = [
    "openmm_engine", "pipelines", "preparation", "protocols", "sampling", "stage_file_api", "systems", "task_metadata",
]  # fmt: skip

from sophron.records import old_names

__getattr__ = old_names.former_modules(__name__)
