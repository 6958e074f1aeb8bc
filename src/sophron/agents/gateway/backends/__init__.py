"""The ways to reach a model, one module a backend, found by name through the entry points `sophron.models`."""

__all__ = [
    "anthropic", "anthropic_convert", "endpoint", "http_client", "http_errors", "mailbox", "openai", "openai_convert",
    "replay", "rule_based_backend", "structured_output", "token_estimate",
]  # fmt: skip
