"""The reward that tests leave: reward.json before reward.txt, every key kept, and no verdict where there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sophron.records.errors import UserError, shown
from sophron.records.files import parse_json, read_bytes

JSON, TEXT = "reward.json", "reward.txt"
KEY = "reward"
FULL = 1.0
"""A reward from which a task is passed: 0.98 is not a pass."""
MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class Reward:
    """What tests said. values: finite numbers by name; fault: why there is no verdict, empty if there is one."""

    values: Mapping[str, float] = field(default_factory=dict)
    fault: str = ""

    @property
    def passed(self) -> bool:
        """Return whether the key `reward` is there and full; other keys are kept, and never averaged."""
        return not self.fault and self.values.get(KEY, -math.inf) >= FULL


def read(folder: Path) -> Reward:
    """Return the reward in the folder that tests wrote to. Whatever stands there is a result, never an error."""
    for name, reader in ((JSON, _json), (TEXT, _text)):
        path = folder / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            return Reward(fault=f"{name} is not a plain file")
        if path.exists():
            try:
                return reader(read_bytes(path, MOST_BYTES))
            except (UserError, UnicodeDecodeError, ValueError, RecursionError) as error:
                return Reward(fault=f"{name} cannot be read ({shown(str(error), 120)})")
    return Reward(fault=f"the tests left neither {JSON} nor {TEXT}")


def _text(raw: bytes) -> Reward:
    text = raw.decode("utf-8-sig").strip()
    if not text:
        return Reward(fault=f"{TEXT} is empty")
    try:
        value = float(text)
    except ValueError:
        return Reward(fault=f"{TEXT} holds {shown(text)}, which is not a number")
    return _finite(TEXT, {KEY: value})


def _json(raw: bytes) -> Reward:
    content = parse_json(raw)
    if not isinstance(content, Mapping) or not content:
        return Reward(fault=f"{JSON} is not an object with numbers")
    wrong = [name for name, value in content.items() if not isinstance(value, int | float)]
    if wrong:
        return Reward(fault=f"{JSON}: {shown(wrong[0])} is not a number")
    found = _finite(JSON, {name: float(value) for name, value in content.items()})
    return found if found.fault or KEY in found.values else Reward(found.values, f"{JSON} has no key {KEY}")


def _finite(name: str, values: Mapping[str, float]) -> Reward:
    wrong = [key for key, value in values.items() if not math.isfinite(value)]
    return Reward(fault=f"{name}: {shown(wrong[0])} is not a finite number") if wrong else Reward(values)
