"""Rietveld refinement: engines behind one interface, patterns, states that are kept, figures."""

__all__ = [
    "batches", "compare", "convergence", "data", "engine", "engine_messages", "gsas2_engine", "instrument_files", "mcp",
    "pattern", "plots", "refine", "refined_cif", "refinement", "report_check", "request_validation", "rietx_engine",
    "series", "session", "simulate", "simulated", "step_scans", "subprocess_engine", "workers",
]  # fmt: skip
