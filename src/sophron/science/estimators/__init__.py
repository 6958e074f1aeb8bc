"""Estimators: means, autocorrelations, Green-Kubo integrals and their errors, from arrays alone."""

__all__ = [
    "autocorrelation", "bar", "binding_corrections", "correlated_series", "diffusion", "finite_size", "green_kubo",
    "mbar", "plateau", "pymbar_solver", "refusal", "restraints", "rouse", "statistical_power", "statistics",
    "structure", "thermodynamic_cycle", "zero_shear",
]  # fmt: skip

from sophron.records import old_names

__getattr__ = old_names.former_modules(__name__)
