"""The ledger: what model calls reserve before they are made, and what they cost; shared by parallel steps.

`records/ledger.jsonl` of a campaign holds its own calls, `ledger.jsonl` in the user's state folder those of all
campaigns of this user, for the cap of a day. A reservation counts in full from the moment `reserve` returns; it ends
as settled (its real cost), released (nobody worked on it) or charged (it may have been worked on). One whose process
died stays as it is: charged.
"""

import math
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sophron.agents.gateway.budget import KINDS, Caps, day_file
from sophron.agents.gateway.ledger_totals import Amount, Book, nothing
from sophron.interfaces.model import Usage
from sophron.records import clock, process_identity, user_folders
from sophron.records.errors import Refused, UserError
from sophron.records.file_lock import FileLock

FILE = Path("records", "ledger.jsonl")
AUDITS = "records/*/audit.jsonl"


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


class OverBudget(Exception):
    """A call that does not fit. cap: step, campaign or day; on: calls, tokens or dollars; reason: one sentence."""

    def __init__(self, cap: str, on: str, reason: str) -> None:
        super().__init__(reason)
        self.cap = cap
        self.on = on
        self.reason = reason


class Ledger:
    """The ledger of the campaign at `root`, and the user's of the day.

    Refused where the campaign's is missing beside audits of earlier calls: what they cost would be forgotten.
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
        return Book(user_folders.state() / FILE.name, "day")

    def reserve(self, step: str, model: str, tokens: int, dollars: float) -> Reservation:
        """Set aside one call, `tokens` (in and out, an upper bound) and `dollars`; OverBudget where a cap forbids it.

        Atomic among all processes. ValueError for amounts that are no amounts.
        """
        if tokens < 0 or not 0 <= dollars < math.inf:
            raise ValueError(f"{tokens} tokens and {dollars} dollars cannot be reserved")
        wanted: Amount = {"calls": 1, "tokens": tokens, "dollars": round(dollars, 9)}
        day = clock.now().date().isoformat()
        with self._both():
            sums = self._campaign.sums()
            self._check("step", sums.by.get(step, nothing()), wanted)
            self._check("campaign", sums.total, wanted)
            self._check("day", self._day.sums().by.get(day, nothing()), wanted)
            reservation = Reservation(uuid.uuid4().hex, step, model, 1, tokens, wanted["dollars"], day)
            self._write({"event": "reserve", **asdict(reservation), **_me()}, sync=True)
        return reservation

    def settle(self, reservation: Reservation, usage: Usage, dollars: float) -> None:
        """The call is answered: count what it took instead of what was reserved."""
        tokens = usage.input_tokens + usage.output_tokens
        self._close(reservation, "settle", {"calls": 1, "tokens": tokens, "dollars": round(dollars, 9)})

    def release(self, reservation: Reservation) -> None:
        """The call was surely not worked on: count nothing."""
        self._close(reservation, "release", {})

    def charge(self, reservation: Reservation) -> None:
        """Nobody knows whether the call was worked on: it stays counted as reserved."""
        self._close(reservation, "charge", {})

    def used(self) -> dict[str, Amount]:
        """What the campaign and this day have reserved or spent."""
        with self._both():
            today = self._day.sums().by.get(clock.now().date().isoformat(), nothing())
            return {"campaign": dict(self._campaign.sums().total), "day": dict(today)}

    def _close(self, reservation: Reservation, event: str, amount: Mapping[str, float]) -> None:
        with self._both():
            if reservation.id not in self._campaign.sums().open:
                raise ValueError(f"the reservation {reservation.id} is closed already")
            self._write({"event": event, "id": reservation.id, **amount}, sync=False)

    def _write(self, record: Mapping[str, Any], *, sync: bool) -> None:
        """The campaign's line first: after a kill between the two, nothing is counted that this campaign forgot."""
        timed = {"time": clock.isoformat(), **record}
        self._campaign.append(timed, sync=sync)
        self._day.append(timed, sync=sync)

    @contextmanager
    def _both(self) -> Iterator[None]:
        """Both locks, always in this order."""
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

    def _check(self, cap: str, used: Amount, wanted: Amount) -> None:
        limits = getattr(self.caps, cap)
        for kind in KINDS:
            limit = getattr(limits, kind)
            if limit is not None and round(used[kind] + wanted[kind], 9) > limit:
                raise OverBudget(cap, kind, _sentence(cap, kind, limit, used[kind], wanted[kind]))


def _lock(book: Book) -> Path:
    return book.path.with_suffix(".lock")


def _me() -> dict[str, Any]:
    pid = os.getpid()
    return {"pid": pid, "pid_start": process_identity.start_of(pid), "host": process_identity.host()}


def _sentence(cap: str, kind: str, limit: float, used: float, wanted: float) -> str:
    remedy = {
        "step": f"raise limits.{kind} of the agent",
        "campaign": f"raise limits.{'model_calls' if kind == 'calls' else kind} with: sophron amend",
        "day": f"raise {kind} in {day_file()}, or go on tomorrow",
    }[cap]
    return (
        f"the {cap} may take {_shown(limit)} {kind}; {_shown(used)} are spent or reserved, and this call may take "
        f"{_shown(wanted)}: {remedy}"
    )


def _shown(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")
