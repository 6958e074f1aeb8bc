"""The kind agent_build: an agent built from a contract, judged case by case, and released."""

__all__ = ["agent_inputs", "campaign_adapter", "contract_campaign", "kind", "rehearsal", "retune", "stages"]
