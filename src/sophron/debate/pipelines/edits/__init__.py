"""Mechanical edits of a stage file, which cannot change its meaning: alignment, allowed edits, reasons."""

__all__ = ["ast_diff", "edit_context", "io_edits", "mechanical_edits", "refusals", "result_edits"]
