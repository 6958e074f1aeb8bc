"""One agent step: its inputs, the conversation, guardrails, and the answer put in place."""

__all__ = [
    "agent_inputs", "agent_step", "availability", "cited_works", "conversation", "guardrails", "rietveld_inputs",
    "step_wiring", "unapproved_step",
]  # fmt: skip
