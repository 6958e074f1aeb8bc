"""Generated pipelines: the contract of the four stage files, static checks, and mechanical edits."""

__all__ = ["edits", "pipeline", "static_check"]
