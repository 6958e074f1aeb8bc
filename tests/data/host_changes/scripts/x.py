open(snakemake.output[0], "w").write("x")
