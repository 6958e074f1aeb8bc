"""This installation of Sophron inside a sandbox: which command it is there, and what that command has to see."""

from __future__ import annotations

import sys
from pathlib import Path

import sophron

NAME = "sophron"
"""The word that stands for it in a definition."""
COMMAND = (sys.executable, "-m", "sophron")
_PACKAGE = Path(sophron.__file__).resolve().parent


def folders() -> list[Path]:
    """Read-only: the interpreter, its packages, this package, and the data that an editable one links to."""
    linked = [path.resolve() for path in _PACKAGE.iterdir() if path.is_symlink()]
    return list(dict.fromkeys([Path(sys.base_prefix), Path(sys.prefix), _PACKAGE.parent, *linked]))


def environment() -> dict[str, str]:
    """Return what the command needs to find itself, and to leave no caches and no threads that nobody asked for."""
    return {"PYTHONPATH": str(_PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
