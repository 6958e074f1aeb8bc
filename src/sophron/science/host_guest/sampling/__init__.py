"""Sampling windows with OpenMM: equilibration, steps, replica exchange, and the samples kept."""

__all__ = [
    "equilibration", "npz", "observables", "openmm_system", "replica_exchange_block", "samples", "window_sampling",
]  # fmt: skip

from typing import Any

_OF_MODULE = ("COLUMNS", "LONGEST_SETTLING_PS", "Chain", "Engine", "Plan", "State", "segment_seed")


def __getattr__(name: str) -> Any:
    """A name of `window_sampling`, which was the module `sampling`: recorded pipelines take it from here."""
    if name not in _OF_MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sophron.science.host_guest.sampling import window_sampling

    return getattr(window_sampling, name)
