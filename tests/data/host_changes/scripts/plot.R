source(file.path(snakemake@scriptdir, "common.R"))
writeLines(as.character(snakemake@config[["r"]][["alpha"]]), snakemake@output[[1]])
