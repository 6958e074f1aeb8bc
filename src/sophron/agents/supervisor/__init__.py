"""The loop of `sophron run` around Snakemake: failure reports, drafted amendments, the design dialogue."""

__all__ = ["design_dialogue", "failure_report", "snakemake_process", "supervisor"]
