"""Rules of thumb, one module an agent: deterministic answers from the inputs alone, with no language model."""

__all__ = [
    "amend", "caveats", "checkpoint_management", "debug", "design", "design_draft", "example_specs", "experts",
    "explain", "failure_table", "input_checks", "judge_score", "judge_screen", "longer_sampling", "omissions",
    "optimize", "optimize_recipe", "pipeline_author", "pipeline_critic", "pipeline_engineer", "plan", "reference_diff",
    "refinement", "refinement_report", "refinement_state", "request_parsing", "resume", "vote_rules",
]  # fmt: skip
