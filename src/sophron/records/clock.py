"""The clock: the only source of timestamps (Superscientist, appendix B.2)."""

from datetime import datetime


def now() -> datetime:
    """Return the local time with its offset."""
    return datetime.now().astimezone()


def isoformat() -> str:
    """Return now as `2026-11-21T22:13:37+00:00`."""
    return now().isoformat(timespec="seconds")
