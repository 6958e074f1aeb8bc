"""Interfaces of Sophron: documented dataclasses and abstract methods, nothing else.

Lowest layer of the house: `science` and `campaign`, which know neither each other, both build on it.
"""
