from pkg.words import WORD

open(snakemake.output[0], "w").write(WORD + snakemake.config["hidden"])
