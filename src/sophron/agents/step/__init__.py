"""One agent step: its inputs, the conversation, guardrails, and the answer put in place."""
