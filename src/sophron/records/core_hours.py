"""Core-hours used of the envelope: one running sum over all tries. Standard library only."""

import math
from pathlib import Path

from sophron.records.errors import UserError
from sophron.records.files import read_json


def _path(root: Path) -> Path:
    return root / "records" / "usage.json"


def core_hours(root: Path) -> float:
    """Return the core-hours used so far: the sum over all ended tries of reserved cores x elapsed time."""
    path = _path(root)
    try:
        used = float(read_json(path)["core_seconds"]) if path.exists() else _from_tries(root)
    except (ValueError, KeyError, TypeError):
        used = math.nan
    if not math.isfinite(used) or used < 0:
        raise UserError(f"{path}: is damaged; remove it to have it made again from the tries")
    return used / 3600


def _from_tries(root: Path) -> float:
    return sum(map(_core_seconds, (root / "records").glob("*/*/try.json")))


def _core_seconds(path: Path) -> float:
    try:
        return max(0.0, float(read_json(path).get("core_seconds") or 0.0))
    except (ValueError, AttributeError, TypeError):
        raise UserError(f"{path}: this try's record is damaged; restore it, or remove the file") from None


def charge(root: Path, core_seconds: float) -> None:
    """Add an ended try."""
    # Only who writes pays for these imports; the gate only reads.
    from sophron.records.files import FileLock, write_json

    with FileLock(root / "records" / "usage.lock"):
        used = core_hours(root) * 3600 + core_seconds
        write_json(_path(root), {"core_seconds": round(used, 3)})


def settle(root: Path) -> None:
    """Raise the running sum to that of the tries, if it is below: a file that says less would widen the envelope."""
    if _path(root).exists():
        lacking = _from_tries(root) - core_hours(root) * 3600
        if lacking > 1:  # rounded sums differ by less
            charge(root, lacking)
