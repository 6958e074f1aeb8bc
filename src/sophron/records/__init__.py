"""Everything that lies on disk: canonical JSON, digests, documents, atomic files, locks, events, approvals."""
