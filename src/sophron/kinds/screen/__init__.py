"""The kind screen: one pipeline over a library of guests."""

__all__ = ["kind", "report_sections"]
