open(snakemake.output[0], "w").write(snakemake.params.word)
