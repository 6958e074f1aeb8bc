"""Mechanical edits of a stage file, which cannot change its meaning: alignment, allowed edits, reasons."""

__all__ = [
    "ast_diff", "edit_context", "import_edits", "io_edits", "mechanical_edits", "path_edits", "protected_terms",
    "refusals", "rename_edits", "syntax_repair",
]  # fmt: skip
