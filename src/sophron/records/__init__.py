"""Everything that lies on disk: files, digests, documents, locks, events, approvals."""

__all__ = [
    "approvals", "atomic", "clock", "core_hours", "digests", "doc_passages", "documents", "entry_points", "errors",
    "events", "files", "import_path", "nearest_campaign", "old_names", "process_identity", "retry", "sanitize",
    "secret_keys", "signatures", "step_progress", "strict_yaml", "templates", "terminal", "typed_json", "units",
]  # fmt: skip

SPEC_NAME = "campaign.yaml"
"""The spec of a campaign: the file by which a folder is known to be one."""
OVERLAYS_NAME = "mechanical.yaml"
"""Mechanical values that were chosen since, beside the spec: absent if none was."""
LEDGER = "records/ledger.jsonl"
"""What model calls cost: the ledger of a campaign, absent if it never asked a model."""
WHOLE_CHECK = "SOPHRON_WHOLE_CHECK"
"""Variable of a step that must check all the code: some changed since its driver checked it."""
