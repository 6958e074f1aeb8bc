"""Everything that lies on disk: canonical JSON, digests, documents, atomic files, locks, events, approvals."""

__all__ = [
    "approvals", "atomic", "canonical_json", "clock", "code_digest", "core_hours", "documents", "entry_points",
    "errors", "events", "file_lock", "files", "import_path", "job_environment", "jsonl", "package_data",
    "process_identity", "renamed_modules", "renames", "retry", "sanitize", "secret_environment", "secret_filter",
    "signatures", "step_identity", "step_progress", "strict_yaml", "templates", "terminal", "typed_json", "units",
    "user_folders",
]  # fmt: skip

SPEC_NAME = "campaign.yaml"
"""The spec of a campaign: the file by which a folder is known to be one."""
LEDGER = "records/ledger.jsonl"
"""What model calls cost: the ledger of a campaign, absent if it never asked a model."""
