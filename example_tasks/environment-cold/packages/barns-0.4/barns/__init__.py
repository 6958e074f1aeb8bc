"""Cross sections in barn."""

__version__ = "0.4"


def to_barn(text: str) -> float:
    """Return a cross section such as `3 mb` in barn; the interface of before 0.5."""
    value, unit = text.split()
    return float(value) * {"b": 1.0, "mb": 1e-3}[unit]
