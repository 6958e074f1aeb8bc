"""Release of a built agent: its package, the endpoint that serves it, and the trail of its provenance."""

__all__ = [
    "a2a_executor", "a2a_handler", "a2a_server", "a2a_task", "bearer_tokens", "message_inputs", "package", "provenance",
    "trail",
]  # fmt: skip
