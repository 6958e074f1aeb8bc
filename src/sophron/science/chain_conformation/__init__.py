"""Conformation of bead-spring chains: the radius of gyration, sampled in several ways that must agree."""
