"""What processes use, summed from their folders below a /proc: the arithmetic of limits held from outside."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sophron.records.process_identity import stat_fields

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ProcessUsage(NamedTuple):
    """threads; cpu_s: with ended children; resident_mb, shared_mb: what processes share is counted for each of them."""

    threads: int = 0
    cpu_s: float = 0.0
    resident_mb: float = 0.0
    shared_mb: float = 0.0


def total(processes: Iterable[Path]) -> ProcessUsage:
    """Return the sum over those of `processes`, folders such as /proc/17, that have not ended."""
    sums = [ProcessUsage()]
    for process in processes:
        try:
            fields, pages = stat_fields(process), (process / "statm").read_text(encoding="ascii").split()
        except OSError:
            continue
        resident, shared = (int(count) * _PAGE_BYTES / 1e6 for count in pages[1:3])
        sums.append(ProcessUsage(int(fields[17]), sum(map(int, fields[11:15])) / _TICKS_PER_S, resident, shared))
    return ProcessUsage(*map(sum, zip(*sums, strict=True)))
