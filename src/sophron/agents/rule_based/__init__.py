"""Rules of thumb, one module an agent: deterministic answers from the inputs alone, with no language model."""

__all__ = [
    "amend", "checkpoint_management", "debug", "design", "design_draft", "example_specs", "experts", "failure_table",
    "input_checks", "longer_sampling", "omissions", "optimize", "optimize_recipe", "pipeline_critic",
    "pipeline_engineer", "pipeline_writer", "plan", "reference_diff", "refine", "refine_report", "refine_state",
    "report", "request_parsing", "resume", "score", "screen", "verify", "vote_rules",
]  # fmt: skip
