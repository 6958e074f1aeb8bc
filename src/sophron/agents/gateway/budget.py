"""Caps on model calls: what a step, a campaign and a day may take of calls, tokens and dollars."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sophron.records import user_folders
from sophron.records.documents import load_yaml, schema, validate

FILE = "budget.yaml"


@dataclass(frozen=True)
class Cap:
    """Most calls, tokens (in and out) and US dollars; None is no cap."""

    calls: float | None = None
    tokens: float | None = None
    dollars: float | None = None

    @staticmethod
    def of_envelope(envelope: Mapping[str, Any]) -> "Cap":
        """The signed envelope of a campaign; what it does not state was not granted."""
        return Cap(envelope.get("model_calls", 0), envelope.get("tokens", 0), envelope.get("dollars", 0))

    @staticmethod
    def of_limits(limits: Mapping[str, Any]) -> "Cap":
        """The limits in an agent's front matter; a key that is left out is no cap."""
        return Cap(**{name: limits.get(name) for name in KINDS})


KINDS = tuple(field.name for field in fields(Cap))


@dataclass(frozen=True)
class Caps:
    """The three caps that every call must fit."""

    step: Cap
    campaign: Cap
    day: Cap


def day_file() -> Path:
    """Where this user's own cap of a day stands."""
    return user_folders.configuration() / FILE


def day_cap() -> Cap:
    """This user's cap of a day, from `budget.yaml` in the user's configuration, with the schema's defaults."""
    defaults = {name: about["default"] for name, about in schema("budget")["properties"].items()}
    path = day_file()
    if not path.is_file():
        return Cap(**defaults)
    document = load_yaml(path)
    validate(document, "budget")
    return Cap(**defaults | document.data)
