"""Release of a built agent: its package, the endpoint that serves it, and the trail of its provenance."""

__all__ = [
    "a2a_executor", "a2a_handler", "a2a_messages", "a2a_server", "a2a_task_folder", "a2a_task_store", "agent_card",
    "bearer_tokens", "message_inputs", "package", "packaged_agent", "provenance", "task_process", "trail",
    "trail_crate", "trail_entry",
]  # fmt: skip
