"""Sums over a ledger file: its lines are the truth, the sums beside it only spare the reading of old lines."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sophron.agents.gateway.budget import KINDS
from sophron.records import jsonl
from sophron.records.atomic import write_json
from sophron.records.errors import Refused, UserError
from sophron.records.files import read_json

Amount = dict[str, float]
LONGEST_TAIL = 64 * 1024  # bytes; some 250 lines, read in a millisecond or two


def nothing() -> Amount:
    """No calls, no tokens, no dollars."""
    return dict.fromkeys(KINDS, 0)


def _add(to: Amount, amount: Mapping[str, float], sign: int = 1) -> None:
    for kind in KINDS:
        # Nano-dollars: sums of the same amounts are the same number, in whatever order they came.
        to[kind] = round(to[kind] + sign * amount[kind], 9)


@dataclass
class Sums:
    """Sums of all lines up to byte `offset`. by: step or day -> amount; open: id -> what is reserved and not closed.

    What is reserved counts in full until it is settled or released, whether its process still lives or not.
    """

    offset: int = 0
    total: Amount = field(default_factory=nothing)
    by: dict[str, Amount] = field(default_factory=dict)
    open: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take(self, record: Mapping[str, Any], key: str) -> None:
        """Count one line. key: the field of a reservation by which sums are kept. A second closing counts nothing."""
        kind, name = record["event"], record["id"]
        if kind == "reserve":
            self.open[name] = {"group": record[key], **{one: record[one] for one in KINDS}}
            self._count(record[key], record, 1)
        elif name in self.open:
            reserved = self.open.pop(name)
            if kind != "charge":
                self._count(reserved["group"], reserved, -1)
            if kind == "settle":
                self._count(reserved["group"], record, 1)

    def _count(self, group: str, amount: Mapping[str, float], sign: int) -> None:
        _add(self.total, amount, sign)
        _add(self.by.setdefault(group, nothing()), amount, sign)


class Book:
    """One ledger file with its sums; whoever calls holds its lock. key: `step` or `day`."""

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self.key = key
        self._sums: Sums | None = None
        self._kept = 0  # the sums beside the file reach so far

    def sums(self) -> Sums:
        """The sums as of now. Refused where the file was cut or removed since this process read it."""
        if self._sums is None:
            self._sums = self._stored()
            self._kept = self._sums.offset
        elif self._size() < self._sums.offset:
            raise Refused(f"{self.path}: was cut or removed while a step reserved from it; restore it from your copy")
        records, self._sums.offset = jsonl.read(self.path, self._sums.offset)
        for record in records:
            self._sums.take(record, self.key)
        if self._sums.offset - self._kept > LONGEST_TAIL:
            self._store(self._sums)
            self._kept = self._sums.offset
        return self._sums

    def append(self, record: Mapping[str, Any], *, sync: bool) -> None:
        """Add a line."""
        jsonl.append(self.path, record, sync=sync)

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.is_file() else 0

    @property
    def _file(self) -> Path:
        return self.path.with_suffix(".sums.json")

    def _store(self, sums: Sums) -> None:
        write_json(self._file, {"prefix": self._prefix(sums.offset), "sums": asdict(sums)})

    def _stored(self) -> Sums:
        """The kept sums where they belong to this very file, byte for byte; else none, and all lines are read."""
        try:
            kept = read_json(self._file)
            sums = Sums(**kept["sums"])
            return sums if self._prefix(sums.offset) == kept["prefix"] else Sums()
        except (UserError, ValueError, KeyError, TypeError):
            return Sums()

    def _prefix(self, offset: int) -> str:
        with self.path.open("rb") as stream:
            data = stream.read(offset)
        return hashlib.sha256(data).hexdigest() if len(data) == offset else ""
