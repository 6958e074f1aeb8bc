"""Interfaces of Sophron: documented dataclasses and abstract methods, nothing else.

Lowest layer of the house: `science` and `campaign`, which know neither each other, both build on it.
"""

__all__ = ["engine", "kind", "model_backend", "probe", "rietveld", "rule_based_agent", "sandbox"]

from collections.abc import Mapping
from typing import Any

JsonObject = Mapping[str, Any]
"""A JSON object that is passed on and not read here: a definition, the result of a kind, an answer of an agent.

What code reads has a dataclass (`sophron.records.typed_json`).
"""
UncheckedObject = Mapping[str, object]
"""A JSON object that nobody has looked at: mypy lets no member be used before its type was checked."""
