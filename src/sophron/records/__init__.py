"""Everything that lies on disk: canonical JSON, digests, documents, atomic files, locks, events, approvals."""

SPEC_NAME = "campaign.yaml"
"""The spec of a campaign: the file by which a folder is known to be one."""
LEDGER = "records/ledger.jsonl"
"""What model calls cost: the ledger of a campaign, absent if it never asked a model."""
