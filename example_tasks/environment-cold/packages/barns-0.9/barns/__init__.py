"""Cross sections in barn."""

__version__ = "0.9"
FACTORS = {"b": 1.0, "mb": 1e-3, "ub": 1e-6, "nb": 1e-9, "pb": 1e-12}


def in_barn(value: float, unit: str) -> float:
    """Return a cross section in barn."""
    return value * FACTORS[unit]
