"""Binding free energies of host-guest complexes, and exact systems to test their path with."""
