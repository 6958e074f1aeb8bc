"""Agents built from a contract that people wrote: what is judged, what may be edited, and what is released."""

__all__ = [
    "aud", "boundary", "checks", "contract", "contract_code", "curriculum", "helper_server", "iteration", "judge",
    "mutation", "powder_samples", "release", "rubric", "tool_server",
]  # fmt: skip
