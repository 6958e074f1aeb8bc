"""Refinement as a conversation: a session that holds the model, and the tools that act on it. No protocol here."""

__all__ = [
    "fit_diagnostics", "inspection_tools", "model_files", "model_tools", "report", "report_tools", "sample", "session",
    "tools", "trajectory",
]  # fmt: skip
