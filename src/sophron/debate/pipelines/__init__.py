"""Generated pipelines: the contract of the four stage files, static checks, and mechanical edits."""

__all__ = ["author_contract", "edits", "measured_diagnostics", "pipeline", "static_check"]
