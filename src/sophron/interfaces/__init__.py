"""Interfaces of Sophron: documented dataclasses and abstract methods, nothing else.

Lowest layer of the house: `science` and `campaign`, which know neither each other, both build on it.
"""

__all__ = ["engine", "json_object", "kind", "model", "probe", "rietveld", "rietveld_fit", "rule_based_agent", "sandbox"]
