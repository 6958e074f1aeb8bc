"""One way to call a service again."""

import pytest

from sophron.records import retry
from sophron.records.retry import Pauses

PAUSES = Pauses(attempts=5, first_s=1, longest_s=6)


def test_pauses_double_up_to_the_longest_and_end():
    assert [PAUSES.after(attempt) for attempt in range(1, 6)] == [1, 2, 4, 6, None]
    assert PAUSES.after(2, jitter=0.5) == 1


def test_what_a_service_asks_for_is_waited_unless_it_is_too_long():
    assert [PAUSES.after(1, asked) for asked in (0, 5.5, 6.5)] == [0, 5.5, None]
    assert PAUSES.after(5, 1) is None


def service(faults):
    """Fails so many times, then answers."""
    left = iter(faults)

    def ask():
        for fault in left:
            raise fault
        return "an answer"

    return ask


def test_it_is_called_until_it_answers():
    waited = []
    faults = [OSError("a"), OSError("b")]
    assert retry.call(service(faults), OSError, lambda _, n: float(n), waited.append) == "an answer"
    assert waited == [1.0, 2.0]


def test_another_failure_and_what_pause_raises_end_it():
    waited = []
    with pytest.raises(KeyError):
        retry.call(service([OSError(), KeyError()]), OSError, lambda *_: 0.0, waited.append)
    assert waited == [0.0]

    def enough(fault, attempt):
        raise ValueError(f"{fault}, attempt {attempt}")

    with pytest.raises(ValueError, match="gone, attempt 1"):
        retry.call(service([OSError("gone")]), OSError, enough, waited.append)
