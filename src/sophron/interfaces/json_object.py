"""The one name for JSON that only its owner understands: a definition, the result of a kind, an answer of an agent."""

from collections.abc import Mapping
from typing import Any

JsonObject = Mapping[str, Any]
"""A JSON object that is passed on and not read here. What code reads has a dataclass (`sophron.records.typed_json`)."""
UncheckedObject = Mapping[str, object]
"""A JSON object that nobody has looked at: mypy lets no member be used before its type was checked."""
