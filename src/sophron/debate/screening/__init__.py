"""A virtual screen: one pipeline over a library of guests, and its ranking."""

__all__ = ["ranking", "screen_campaign"]
