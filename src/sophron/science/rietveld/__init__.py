"""Rietveld refinement: engines behind one interface, patterns, recipes, states that are kept, figures."""

__all__ = [
    "batches", "compare", "counts_limited_recipe", "data", "engine", "engine_messages", "engine_process",
    "expected_rwp", "gsas2_engine", "gsas_files", "instrument_files", "mcp", "pattern", "phase_significance", "plots",
    "public_patterns", "recipe", "refinable_groups", "refine", "refined_cif", "refinement", "report_check",
    "request_validation", "rietx_engine", "series", "session", "simulate", "simulated", "subprocess_engine", "weights",
    "workers",
]  # fmt: skip
