"""LAMMPS as an engine: find it, render and check its inputs, run it, read its logs and output files."""
