open(snakemake.output[0], "w").write("v1.1.0")
