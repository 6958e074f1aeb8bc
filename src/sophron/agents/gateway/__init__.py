"""The only way to a model: backends, the catalogue of models, budgets, the ledger, the audit, the mailbox."""

__all__ = ["audit", "backends", "gateway", "ledger", "mailbox_folder"]
