open(snakemake.output[0], "w").write("v1.0.0")
