"""Executable pitfall probes: function(spec, parameters) -> Finding, found by name through `sophron.probes`."""

__all__ = [
    "box", "conditions", "diffraction", "estimates", "fragments", "free_energy", "heat_flux", "heat_flux_cluster",
    "imposed_flux", "integration", "model", "relaxation", "replicas", "sequences", "spec_access", "units",
]  # fmt: skip
