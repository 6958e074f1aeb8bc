"""Signing and amending: the statement that a person signs, its journal, renewal, and known signers."""

__all__ = ["amendment_draft", "approval_journal", "approve", "invalidation", "known_signers"]
