"""Running a program with nothing granted by default; one module a backend, found through `sophron.sandboxes`."""

__all__ = [
    "apptainer", "bubblewrap", "bwrap_launch", "grants", "kernel_limits", "limit_monitor", "mounts",
    "plain_process_limits", "resource_usage", "seccomp", "select_backend",
]  # fmt: skip
