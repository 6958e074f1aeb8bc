"""Rules of thumb, one module an agent: deterministic answers from the inputs alone, with no language model."""

__all__ = [
    "amend", "benchmark_findings", "caveats", "checkpoint_management", "debug", "design", "example_specs", "experts",
    "explain", "input_checks", "judges", "open_work", "optimize", "pipeline_agents", "pipeline_facts", "plan",
    "propose_sequences", "refinement", "refinement_state", "request_parsing", "resume", "skill_maker", "task_maker",
]  # fmt: skip
