"""Agents as steps: definitions, the gateway to models, tools, audit, ledger, memory."""

__all__ = ["documents", "gateway", "memory", "rule_based", "step", "supervisor", "tools"]
