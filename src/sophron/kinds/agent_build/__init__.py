"""The kind agent_build: an agent built from a contract, judged case by case, and released."""

__all__ = ["agent_inputs", "contract_campaign", "kind", "rehearsal", "stages", "trail_source"]
