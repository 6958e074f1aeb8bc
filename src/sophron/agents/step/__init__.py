"""One agent step: its inputs, the conversation, guardrails, and the answer put in place."""

__all__ = ["agent_inputs", "agent_step", "conversation", "step_wiring"]
