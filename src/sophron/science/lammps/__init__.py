"""LAMMPS as an engine: find it, render and check its inputs, run it, read its logs and output files."""

__all__ = ["engine", "executable", "input_checker", "input_parser", "logfile", "render", "run", "segments", "stage_run"]
