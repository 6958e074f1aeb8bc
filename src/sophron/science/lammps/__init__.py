"""LAMMPS as an engine: find it, render and check its inputs, run it, read its logs and output files."""

__all__ = [
    "dcd", "engine", "executable", "input_checker", "input_parser", "logfile", "potentials", "render", "resumable_run",
    "run", "sandboxed", "segments", "start",
]  # fmt: skip
