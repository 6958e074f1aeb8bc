"""The kind host_guest: binding free energies by pipelines that agents write, criticise and try."""

__all__ = ["agent_inputs", "data_remarks", "kind", "report_sections"]
