"""The kind agent_build: an agent built from a contract, judged case by case, and released."""
