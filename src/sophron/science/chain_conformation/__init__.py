"""Conformation of bead-spring chains: the radius of gyration, sampled in several ways that must agree."""

__all__ = ["build", "compare", "equilibrate", "execution_backends", "gyration", "sample"]
