"""The loop of `sophron run` around Snakemake: failure reports, drafted amendments, dialogues."""

__all__ = ["design_dialogue", "dialogue", "failure_report", "snakemake_process", "supervisor"]
