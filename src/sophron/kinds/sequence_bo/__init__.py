"""The kind sequence_bo: the sequence of a chain with the largest radius of gyration, by Bayesian optimisation."""

__all__ = ["agent_inputs", "kind"]
