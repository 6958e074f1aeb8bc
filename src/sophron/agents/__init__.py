"""Agents as steps: definitions, the gateway to models, tools, audit, ledger, memory."""
