"""Benchmarks and libraries of host-guest systems: their data, tasks, and reference values."""
