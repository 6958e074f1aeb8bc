"""Executable pitfall probes: function(spec, parameters) -> Finding, found by name through `sophron.probes`."""
