"""Documents of agents: definitions as prompts, requests as JSON, typed failures, and secrets taken out."""

__all__ = ["answers", "known_failures", "model_request", "redact"]
