"""The engines' side: programs that run in separate processes and answer one line of JSON with another."""

__all__ = [
    "gsas2_derivatives", "gsas2_flags", "gsas2_model", "gsas2_ops", "gsas2_result", "rietx_cache", "rietx_names",
    "rietx_ops", "rietx_result", "worker_loop",
]  # fmt: skip
