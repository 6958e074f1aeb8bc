"""Reference pipelines: the stage files that the rule-based pipeline author starts from."""

__all__ = ["reference_pipelines"]
