"""The report of a campaign: gathered from results and records, as an HTML page and as an RO-Crate."""

__all__ = [
    "compare_values", "crate", "crate_graph", "crate_host", "rederive", "report", "report_page", "report_sections",
    "signed_records",
]  # fmt: skip
