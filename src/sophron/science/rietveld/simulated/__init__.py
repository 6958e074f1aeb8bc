"""Simulated powder patterns: what goes into them is known, and everything made of them is called simulated."""

__all__ = ["series"]
