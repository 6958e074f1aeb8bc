"""Signing and amending: the statement that a person signs, its journal, renewal, and known signers."""

__all__ = ["amend", "amendment_journal", "approve", "draft_check", "known_signers", "renewal"]
