"""Refinement as a conversation: a session that holds the model, and the tools that act on it. No protocol here."""
