"""Rules of a host workflow: their identity, and the guard that lets only signed jobs begin."""

__all__ = [
    "file_digests", "function_code", "guard", "host_gate", "job_steps", "open_host", "plain_values", "rule_code",
    "run_record", "script_files",
]  # fmt: skip
