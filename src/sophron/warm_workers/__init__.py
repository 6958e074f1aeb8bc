"""Run Snakemake's steps on workers that are there already: what the Parsl and Globus Compute executors share.

Driver side: `executor` turns a job into an order (`job_message`). Worker side: `worker` hands it to its `server`.
"""

__all__ = ["executor", "fork_client", "fork_server", "job_message", "lease", "server", "warm_snakemake", "worker"]
