"""The kind workflow: rules of a Snakemake workflow that is not ours, gated, judged and recorded as they are."""

__all__ = ["kind", "read_results", "result_files"]
