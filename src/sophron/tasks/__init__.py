"""Tasks that programs check: Harbor folders and SciFi Markdown read, environments rebuilt, results verified."""

__all__ = [
    "attempts", "bench", "collection", "dockerfile", "environment", "expectation_checks", "expectations", "fabrication",
    "folder_tree", "grading_stubs", "harbor_folder", "judgement", "number_provenance", "python_environment",
    "python_facts", "reward", "run_instruction", "scifi_markdown", "task_maker", "task_templates", "tool_history",
    "verification",
]  # fmt: skip
