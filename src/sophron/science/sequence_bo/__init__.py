"""Sequences of beads in a chain: evaluated by LAMMPS, modelled by a Gaussian process, proposed by what it expects."""

__all__ = [
    "acquisition", "candidates", "compare", "evaluate", "features", "gaussian_process", "proposals", "rounds",
    "sequences", "validate", "warm_up",
]  # fmt: skip
