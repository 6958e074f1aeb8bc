"""Mechanical edits of a stage file, which cannot change its meaning: alignment, allowed edits, reasons."""
