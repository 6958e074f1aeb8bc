"""Estimators: means, autocorrelations, Green-Kubo integrals and their errors, from arrays alone."""

from sophron.records import renamed_modules

__all__ = [
    "autocorrelation", "bar", "binding_corrections", "finite_size", "green_kubo", "heat_current", "mbar", "plateau",
    "pymbar_solver", "refusal", "restraints", "rouse", "statistical_power", "statistics", "subsampling",
    "thermodynamic_cycle", "zero_shear",
]  # fmt: skip

__getattr__ = renamed_modules.of_package(__name__)
