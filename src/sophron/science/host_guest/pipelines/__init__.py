"""Reference pipelines: the stage files that the rule-based pipeline author starts from."""

__all__ = ["complex_pipeline", "dimer_pipeline", "reference_pipelines"]
