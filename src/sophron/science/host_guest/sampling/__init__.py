"""Sampling windows with OpenMM: equilibration, steps, replica exchange, and the samples kept."""
