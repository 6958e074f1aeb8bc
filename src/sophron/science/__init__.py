"""Physics: one package per engine or campaign kind, estimators, and probes. Knows no agents."""

__all__ = [
    "chain_conformation", "conductivity", "estimators", "figures", "host_guest", "lammps", "local_data", "probes",
    "rietveld", "sequence_bo", "viscosity",
]  # fmt: skip
