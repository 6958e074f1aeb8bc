"""Sophron runs computational-science campaigns as Snakemake workflows under a signed plan."""

import os.path

__version__ = "0.1.0"

#: Path of the installed workflow: `module sophron: snakefile: sophron.SNAKEFILE`.
SNAKEFILE = os.path.join(os.path.dirname(__file__), "workflow", "Snakefile")  # noqa: PTH118, PTH120 - no pathlib: --help

#: The gate for a workflow of your own, at the end of its Snakefile: `module sophron: snakefile: sophron.HOST`.
HOST = os.path.join(os.path.dirname(__file__), "workflow", "host.smk")  # noqa: PTH118, PTH120
