"""Render a LAMMPS input from one of our templates; only typed values get into the text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sophron.records import templates

WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*(/[a-z]+)*")
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9][A-Za-z0-9_-]*)*")
COMPRESSED = (".gz", ".bz2", ".zst", ".xz", ".lzma", ".lz4")


@dataclass(frozen=True)
class Word:
    """A LAMMPS keyword or style chosen by our code, e.g. `Word("nvt/sllod")`; ValueError for anything else."""

    text: str

    def __post_init__(self) -> None:
        if not WORD.fullmatch(self.text):
            raise ValueError(f"{self.text!r} is not a LAMMPS word")


@dataclass(frozen=True)
class FileName:
    """Name of a file in the work folder: no folders, no blanks, no suffix that makes LAMMPS start a program."""

    text: str

    def __post_init__(self) -> None:
        if not FILE_NAME.fullmatch(self.text) or self.text.endswith(COMPRESSED):
            raise ValueError(f"{self.text!r} is not a plain file name")


@dataclass(frozen=True)
class FreeText:
    """Lines of LAMMPS input that somebody wrote by hand. An input that holds any runs in the sandbox only."""

    lines: tuple[str, ...]


def render(template: Path, values: Mapping[str, object]) -> str:
    """Return the text of `template` (Jinja) with `values`.

    A value that reaches the text must be an int, a finite float, a `Word`, a `FileName` or `FreeText`; TypeError or
    ValueError otherwise. A name that is not given is an error (`jinja2.UndefinedError`).
    """
    # Plain text, not HTML: `_text` lets typed values through only.
    settings = {"trim_blocks": True, "lstrip_blocks": True, "finalize": _text}
    environment = templates.environment(template.parent, autoescape=False, **settings)
    return environment.get_template(template.name).render(values)


def _text(value: Any) -> str:
    """A typed value as LAMMPS reads it; floats keep all their digits."""
    from jinja2 import Undefined

    if isinstance(value, Undefined):
        return str(value)  # raises the error that names it
    if isinstance(value, Word | FileName):
        return value.text
    if isinstance(value, FreeText):
        return "\n".join(value.lines)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(
            f"a {type(value).__name__} cannot stand in a LAMMPS input; give a number, a word or a file name"
        )
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot stand in a LAMMPS input; give a finite number")
    return repr(value)
