"""Running a program with nothing granted by default; one module a backend, found through `sophron.sandboxes`."""

__all__ = [
    "apptainer", "bubblewrap", "bwrap_launch", "choose", "disk", "grants", "limit_monitor", "mounts",
    "plain_process_limits", "process_limit", "process_usage", "rlimits", "seccomp", "self_mount", "sysv_shm",
    "unconfined",
]  # fmt: skip
