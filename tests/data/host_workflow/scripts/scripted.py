from pathlib import Path

from helpers import shout

Path(snakemake.output[0]).write_text(shout(Path(snakemake.input[0]).read_text()) + snakemake.config["hidden"])
