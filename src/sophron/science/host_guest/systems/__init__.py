"""Benchmarks and libraries of host-guest systems: their data, tasks, and reference values."""

__all__ = ["data", "exact_reference", "library_system", "sampl_system", "systems", "tasks"]
