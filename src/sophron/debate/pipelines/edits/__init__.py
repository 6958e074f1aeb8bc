"""What may be changed in a stage file without changing what it means: alignment, allowed edits, reasons."""
