"""Agents built from a contract that people wrote: what is judged, what may be edited, and what is released."""

__all__ = [
    "aud", "boundary", "checks", "contract", "curriculum", "helper_server", "iteration", "judge", "mutation",
    "powder_samples", "release", "rubric",
]  # fmt: skip
