"""The kind host_guest: binding free energies by pipelines that agents write, criticise and try."""

__all__ = ["agent_inputs", "kind", "report_sections"]
