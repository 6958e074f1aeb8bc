"""The ways to reach a model, one module a backend, found by name through the entry points `sophron.models`."""

__all__ = [
    "anthropic", "endpoint", "http_client", "mailbox", "openai", "replay", "rule_based_backend", "structured_output",
    "token_estimate",
]  # fmt: skip
