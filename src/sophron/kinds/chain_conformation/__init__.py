"""The kind chain_conformation: the radius of gyration, compared across execution backends."""

__all__ = ["kind"]
