"""The panel of experts: votes, their aggregate (MDForge, equation 6), and the reputation of experts."""

__all__ = ["reputation", "votes"]
