"""Run Snakemake's steps on workers that are there already: what the Parsl and Globus Compute executors share.

Driver side: `executor` and `plain` turn a job into an `order`. Worker side: `worker` hands it to its `server`.
"""

__all__ = ["executor", "job_message", "lease", "server", "shell_line", "shell_only_jobs", "warm_snakemake", "worker"]
