"""Call a service again: so many attempts, doubled pauses, and the pause that the service itself asks for."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

Answer = TypeVar("Answer")
Fault = TypeVar("Fault", bound=Exception)


@dataclass(frozen=True)
class Pauses:
    """attempts: calls at most; first_s: pause after the first; longest_s: a service that wants more is left alone."""

    attempts: int
    first_s: float
    longest_s: float

    def after(self, attempt: int, asked_s: float | None = None, jitter: float = 1.0) -> float | None:
        """Return the seconds to wait after an attempt that failed (counted from 1); None if it was the last.

        asked_s: what the service asks for; jitter: a factor on the pauses that it does not ask for.
        """
        if attempt >= self.attempts or (asked_s is not None and asked_s > self.longest_s):
            return None
        return min(self.first_s * 2.0 ** (attempt - 1), self.longest_s) * jitter if asked_s is None else asked_s


def call(
    function: Callable[[], Answer],
    fault: type[Fault],
    pause: Callable[[Fault, int], float],
    sleep: Callable[[float], None] = time.sleep,
) -> Answer:
    """Return what `function` returns once it does not raise `fault`.

    pause: seconds to wait after a fault in this attempt, counted from 1; it raises what the caller is to see if there
    is no use in another.
    """
    attempt = 0
    while True:
        attempt += 1
        try:
            return function()
        except fault as failure:
            wait_s = pause(failure, attempt)
        sleep(wait_s)
