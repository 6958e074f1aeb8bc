"""The ledger: what model calls reserve before they are made, and what they cost; shared by parallel steps.

`records/ledger.jsonl` of a campaign holds its own calls, `ledger.jsonl` in the user's state folder those of all
campaigns of this user, for the cap of a day. A reservation counts in full from the moment `reserve` returns; it ends
as settled (its real cost), released (nobody worked on it) or charged (it may have been worked on). One whose process
died stays as it is: charged.
The lines of a ledger are the truth; the sums beside it (`ledger.sums.json`) only spare the reading of old lines.
"""

import hashlib
import math
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path

from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Usage
from sophron.records import LEDGER, approvals, clock, files, process_identity
from sophron.records.documents import load_yaml, schema, validate
from sophron.records.errors import Refused, UserError
from sophron.records.files import FileLock, read_json, write_json
from sophron.records.typed_json import from_json

FILE = Path(LEDGER)
AUDITS = "records/*/audit.jsonl"
BUDGET_NAME = "budget.yaml"
LONGEST_TAIL = 64 * 1024  # bytes; some 250 lines, read in a millisecond or two
Amount = dict[str, float]
"""Calls, tokens and dollars."""


@dataclass(frozen=True)
class Cap:
    """Most calls, tokens (in and out) and US dollars; None is no cap."""

    calls: float | None = None
    tokens: float | None = None
    dollars: float | None = None

    @staticmethod
    def of_envelope(envelope: JsonObject) -> "Cap":
        """Return the signed envelope of a campaign; what it does not state was not granted."""
        return Cap(envelope.get("model_calls", 0), envelope.get("tokens", 0), envelope.get("dollars", 0))

    @staticmethod
    def of_limits(limits: JsonObject) -> "Cap":
        """Return the limits in an agent's front matter; a key that is left out is no cap."""
        return Cap(**{name: limits.get(name) for name in KINDS})


KINDS = tuple(field.name for field in fields(Cap))


@dataclass(frozen=True)
class Caps:
    """The three caps that every call must fit. day: without one, this user's own, read when a call is reserved."""

    step: Cap
    campaign: Cap
    day: Cap | None = None


def day_file() -> Path:
    """Return where this user's own cap of a day stands."""
    return files.user_configuration() / BUDGET_NAME


def day_cap() -> Cap:
    """Read this user's cap of a day, from `budget.yaml` in the user's configuration, with the schema's defaults."""
    defaults = {name: about["default"] for name, about in schema("budget")["properties"].items()}
    path = day_file()
    if not path.is_file():
        return Cap(**defaults)
    document = load_yaml(path)
    validate(document, "budget")
    return Cap(**defaults | document.data)


def zero_amount() -> Amount:
    """Return no calls, no tokens, no dollars."""
    return dict.fromkeys(KINDS, 0)


def _add(to: Amount, amount: Mapping[str, float], sign: int = 1) -> None:
    for kind in KINDS:
        # Nano-dollars: sums of the same amounts are the same number, in whatever order they came.
        to[kind] = round(to[kind] + sign * amount[kind], 9)


@dataclass(frozen=True)
class LedgerLine:
    """One line. event: reserve, settle, release or charge; amounts: reserved, or what a settled call took."""

    event: str
    id: str
    step: str = ""
    day: str = ""
    calls: float = 0
    tokens: float = 0
    dollars: float = 0

    @property
    def amount(self) -> Amount:
        """What it reserves, or took."""
        return {kind: getattr(self, kind) for kind in KINDS}


@dataclass(frozen=True)
class OpenReservation:
    """What is reserved and not closed. group: the step or the day that it counts for."""

    group: str
    calls: float
    tokens: float
    dollars: float


@dataclass
class Sums:
    """Sums of all lines up to byte `offset`. by: step or day -> amount; open: id -> what is reserved and not closed.

    What is reserved counts in full until it is settled or released, whether its process still lives or not.
    """

    offset: int = 0
    total: Amount = field(default_factory=zero_amount)
    by: dict[str, Amount] = field(default_factory=dict)
    open: dict[str, OpenReservation] = field(default_factory=dict)

    def add(self, line: LedgerLine, key: str) -> None:
        """Count one line. key: the field of a reservation by which sums are kept. A second closing counts nothing."""
        if line.event == "reserve":
            group = getattr(line, key)
            self.open[line.id] = OpenReservation(group, **line.amount)
            self._count(group, line.amount, 1)
        elif line.id in self.open:
            reserved = self.open.pop(line.id)
            if line.event != "charge":
                self._count(reserved.group, {kind: getattr(reserved, kind) for kind in KINDS}, -1)
            if line.event == "settle":
                self._count(reserved.group, line.amount, 1)

    def _count(self, group: str, amount: Mapping[str, float], sign: int) -> None:
        _add(self.total, amount, sign)
        _add(self.by.setdefault(group, zero_amount()), amount, sign)


class Book:
    """One ledger file with its sums; whoever calls holds its lock. key: `step` or `day`."""

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self.key = key
        self._sums: Sums | None = None
        self._kept = 0  # the sums beside the file reach so far

    def sums(self) -> Sums:
        """Return the sums as of now. Refused if the file was cut or removed since this process read it."""
        if self._sums is None:
            self._sums = self._load_kept()
            self._kept = self._sums.offset
        elif self._size() < self._sums.offset:
            raise Refused(f"{self.path}: was cut or removed while a step reserved from it; restore it from your copy")
        records, self._sums.offset = files.read_json_lines(self.path, self._sums.offset)
        for record in records:
            self._sums.add(from_json(LedgerLine, record), self.key)
        if self._sums.offset - self._kept > LONGEST_TAIL:
            self._store(self._sums)
            self._kept = self._sums.offset
        return self._sums

    def append(self, record: Mapping[str, object], *, sync: bool) -> None:
        """Add a line."""
        files.append_json_line(self.path, record, sync=sync)

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.is_file() else 0

    @property
    def _file(self) -> Path:
        return self.path.with_suffix(".sums.json")

    def _store(self, sums: Sums) -> None:
        write_json(self._file, {"prefix": self._prefix(sums.offset), "sums": asdict(sums)})

    def _load_kept(self) -> Sums:
        """Return the kept sums if they belong to this very file, byte for byte; else none, and all lines are read."""
        try:
            kept = read_json(self._file)
            sums = from_json(Sums, kept["sums"])
            return sums if self._prefix(sums.offset) == kept["prefix"] else Sums()
        except (UserError, ValueError, KeyError, TypeError):
            return Sums()

    def _prefix(self, offset: int) -> str:
        with self.path.open("rb") as stream:
            data = stream.read(offset)
        return hashlib.sha256(data).hexdigest() if len(data) == offset else ""


@dataclass(frozen=True)
class Reservation:
    """What was set aside for one call. tokens: in and out; dollars: US; day: the local date it counts for."""

    id: str
    step: str
    model: str
    calls: int
    tokens: int
    dollars: float
    day: str


class BudgetError(Exception):
    """A call that does not fit. cap: step, campaign or day; on: calls, tokens or dollars; reason: one sentence."""

    def __init__(self, cap: str, on: str, reason: str) -> None:
        super().__init__(reason)
        self.cap = cap
        self.on = on
        self.reason = reason


class Ledger:
    """The ledger of the campaign at `root`, and the user's of the day.

    Refused if the campaign's is missing beside audits of earlier calls: what they cost would be forgotten.
    """

    def __init__(self, root: Path, caps: Caps) -> None:
        self.root = root
        self.caps = caps
        self._campaign = Book(root / FILE, "step")
        with FileLock(_lock(self._campaign)):
            if not self._campaign.path.is_file():
                if next(root.glob(AUDITS), None) is not None:
                    raise Refused(f"{root / FILE}: is missing beside the audits of model calls; restore it from a copy")
                self._campaign.path.touch()

    @cached_property
    def _day(self) -> Book:
        return Book(files.user_state() / FILE.name, "day")

    def reserve(self, step: str, model: str, tokens: int, dollars: float) -> Reservation:
        """Set aside one call, `tokens` (in and out, an upper bound) and `dollars`; BudgetError if a cap forbids it.

        Atomic among all processes. ValueError for amounts that are no amounts.
        """
        if tokens < 0 or not 0 <= dollars < math.inf:
            raise ValueError(f"{tokens} tokens and {dollars} dollars cannot be reserved")
        amount: Amount = {"calls": 1, "tokens": tokens, "dollars": round(dollars, 9)}
        day = clock.now().date().isoformat()
        with self._both():
            sums = self._campaign.sums()
            self._check("step", sums.by.get(step, zero_amount()), amount)
            self._check("campaign", sums.total, amount)
            self._check("day", self._day.sums().by.get(day, zero_amount()), amount)
            reservation = Reservation(uuid.uuid4().hex, step, model, 1, tokens, amount["dollars"], day)
            self._write({"event": "reserve", **asdict(reservation), **process_identity.identity()}, sync=True)
        return reservation

    def settle(self, reservation: Reservation, usage: Usage, dollars: float) -> None:
        """Count what an answered call took instead of what was reserved."""
        tokens = usage.input_tokens + usage.output_tokens
        self._close(reservation, "settle", {"calls": 1, "tokens": tokens, "dollars": round(dollars, 9)})

    def release(self, reservation: Reservation) -> None:
        """Count nothing: the call was surely not worked on."""
        self._close(reservation, "release", {})

    def charge(self, reservation: Reservation) -> None:
        """Leave the call counted as reserved: nobody knows whether it was worked on."""
        self._close(reservation, "charge", {})

    def used(self) -> dict[str, Amount]:
        """Return what the campaign and this day have reserved or spent."""
        with self._both():
            today = self._day.sums().by.get(clock.now().date().isoformat(), zero_amount())
            return {"campaign": dict(self._campaign.sums().total), "day": dict(today)}

    def _close(self, reservation: Reservation, event: str, amount: Mapping[str, float]) -> None:
        with self._both():
            if reservation.id not in self._campaign.sums().open:
                raise ValueError(f"the reservation {reservation.id} is closed already")
            self._write({"event": event, "id": reservation.id, **amount}, sync=False)

    def _write(self, record: Mapping[str, object], *, sync: bool) -> None:
        """Write the campaign's line first: after a kill between the two, nothing counts that the campaign forgot."""
        timed = {"time": clock.isoformat(), **record}
        self._campaign.append(timed, sync=sync)
        self._day.append(timed, sync=sync)

    @contextmanager
    def _both(self) -> Iterator[None]:
        """Hold both locks, always taken in this order."""
        with FileLock(_lock(self._campaign)):
            try:
                other = FileLock(_lock(self._day))
                other.acquire()
            except OSError as error:
                where = self._day.path.parent
                raise UserError(
                    f"{where}: cannot be written ({error.strerror}); set XDG_STATE_HOME to a folder of yours"
                ) from None
            with other:
                yield

    def _check(self, cap: str, used: Amount, amount: Amount) -> None:
        limits = getattr(self.caps, cap) or day_cap()
        for kind in KINDS:
            limit = getattr(limits, kind)
            if limit is not None and round(used[kind] + amount[kind], 9) > limit:
                raise BudgetError(cap, kind, _over_cap(cap, kind, limit, used[kind], amount[kind]))


def _lock(book: Book) -> Path:
    return book.path.with_suffix(".lock")


def _over_cap(cap: str, kind: str, limit: float, used: float, request: float) -> str:
    remedy = {
        "step": f"raise limits.{kind} of the agent",
        "campaign": f"raise limits.{'model_calls' if kind == 'calls' else kind} with: sophron amend",
        "day": f"raise {kind} in {day_file()}, or go on tomorrow",
    }[cap]
    return (
        f"the {cap} may take {_shown(limit)} {kind}; {_shown(used)} are spent or reserved, and this call may take "
        f"{_shown(request)}: {remedy}"
    )


def _shown(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")


Amounts = dict[str, float]


def spent(root: Path) -> Amounts | None:
    """Return what is spent or reserved, by limit of a campaign; None if no model was ever asked."""
    if not (root / LEDGER).is_file():
        return None
    from sophron.campaign.planning.campaign_agents import LIMIT_KEYS

    total = _sums(root).total
    return {limit: total[kind] for limit, kind in LIMIT_KEYS.items()} if total["calls"] else None


def spent_by_step(root: Path) -> dict[str, Amount]:
    """Return step -> what is spent or reserved."""
    return _sums(root).by


def _sums(root: Path) -> Sums:
    from sophron.records.typed_json import from_json

    sums = Sums()
    for record in files.read_json_lines(root / LEDGER)[0]:
        sums.add(from_json(LedgerLine, record), "step")
    return sums


def beside_the_caps(root: Path) -> dict[str, Amounts | None] | None:
    """Return `{spent, signed}`, the latter None without an approval in force; None if no model was ever asked."""
    amounts = spent(root)
    return None if amounts is None else {"spent": amounts, "signed": _signed_caps(root)}


def spending_sentence(costs: Mapping[str, Amounts | None]) -> str:
    """Return what `beside_the_caps` gives, in words."""
    from sophron.campaign.rendering.formatting import of_a_model

    amounts, caps = costs["spent"], costs["signed"]
    most = f"; signed are at most {of_a_model(caps)}" if caps else ""
    return f"Models took {of_a_model(amounts or {})}{most}"


def _signed_caps(root: Path) -> Amounts | None:
    from sophron.campaign.planning.campaign_agents import LIMIT_KEYS

    try:
        envelope: Mapping[str, float] = approvals.signed_gate(root).record.envelope
    except (Refused, OSError):
        return None
    return {limit: envelope.get(limit, 0) for limit in LIMIT_KEYS}
