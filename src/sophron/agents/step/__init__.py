"""One agent step: its inputs, the conversation, guardrails, and the answer put in place."""

__all__ = [
    "agent_inputs", "agent_step", "conversation", "conversation_journal", "definition_edits", "evolve_inputs",
    "failure_inputs", "host_inputs", "report_inputs", "step_logs", "step_wiring",
]  # fmt: skip
