"""Tasks that programs check: Harbor folders and SciFi Markdown read, environments rebuilt, results verified."""

__all__ = [
    "attempts", "bench", "dockerfile", "environment", "expectation_checks", "expectations", "folder_tree",
    "grading_stubs", "harbor_folder", "judgement", "python_environment", "reward", "run_instruction", "scifi_markdown",
    "verification",
]  # fmt: skip
