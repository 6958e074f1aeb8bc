"""The loop of `sophron run` around Snakemake: failure reports, drafted amendments, the design dialogue."""
