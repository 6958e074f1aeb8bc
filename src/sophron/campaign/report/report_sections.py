"""What a kind adds to the report of its campaigns: sections of sentences, tables and pictures, as plain values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sophron.campaign.report.report import Report


@dataclass(frozen=True)
class Table:
    """caption: what it shows, with units; header, rows, foot: cells as people read them.

    words: how many columns from the left hold words; those after them hold numbers.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    foot: Sequence[str] = ()
    words: int = 1


@dataclass(frozen=True)
class Picture:
    """A picture that the report drew. caption: what it shows; svg: the file."""

    caption: str
    svg: bytes


@dataclass(frozen=True)
class Section:
    """One section; sentences come first, then tables, then pictures."""

    title: str
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()


Sections = Callable[["Report"], Sequence[Section]]
"""The function that `Kind.report` names: sections from what was gathered; it writes nothing."""
