"""The kind rietveld: powder patterns refined by an agent, recomputed, and compared."""

__all__ = ["agent_inputs", "kind"]
