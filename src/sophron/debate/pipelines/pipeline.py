"""The contract of a generated pipeline: what its author replies, and what its four stage files find and leave.

A reply has three kinds of block, each opened by a line of its own (MDForge, appendix D):

    RATIONALE
    The method, why it fits, and at least one DOI.
    ENTRY
    01_prep.py
    02_equilibrate.py
    03_production.py windows=20
    04_analysis.py
    FILE 01_prep.py
    ```python
    ...
    ```

and so on for all four files, in this order. How many windows production has stands in ENTRY, so that its steps are
known before any of them runs.

Every file runs unchanged on every guest, by itself, in a sandbox, in an empty work folder. There it finds
`task_metadata.json` (`schemas/debate/task_metadata.schema.yaml`) and, where the system has them, `host.mol2`,
`guest.mol2` and `complex.pdb`; what earlier stages left in their work folders is below `stage_01/`, `stage_02/` and,
for the analysis, `windows/0/`, `windows/1/`, ..., all for reading. `03_production.py` runs once a window. The
environment says which (`SOPHRON_WINDOW`), how much to sample (`SOPHRON_NS_PER_WINDOW`), the seed (`SOPHRON_SEED`) and
the platform (`SOPHRON_PLATFORM`). Each leaves `stage_NN_result.json` (`schemas/debate/stage_result.schema.yaml`) in the
folder where it runs, on failure too, and whatever later stages need.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from sophron.debate.panel.votes import Focus
from sophron.records.digests import digest

RATIONALE, ENTRY, FILE = "RATIONALE", "ENTRY", "FILE"
METADATA_NAME = "task_metadata.json"
INPUT_NAMES = ("host.mol2", "guest.mol2", "complex.pdb")
"""Files of host and guest by their canonical names, the only ones that code may name."""

NS_PER_WINDOW = "SOPHRON_NS_PER_WINDOW"
WINDOW = "SOPHRON_WINDOW"
WINDOWS = "SOPHRON_WINDOWS"
SEED = "SOPHRON_SEED"
PLATFORM = "SOPHRON_PLATFORM"
VARIABLES = {
    NS_PER_WINDOW: "nanoseconds to sample in each window, equilibration of the window not counted; every stage has it",
    WINDOW: "the window that 03_production.py is to run, counted from 0; no other stage has it",
    WINDOWS: "how many windows ENTRY declares; every stage has it",
    SEED: "seed of all randomness of the step, from 1 to 900,000,000; every stage has it, each execution another one",
    PLATFORM: "OpenMM's platform, CUDA, OpenCL, CPU or Reference; another one is never taken in its place",
}
"""Variable of the environment -> what it holds."""

LEAST_WINDOWS, MOST_WINDOWS = 2, 100
REHEARSED_NS = 0.02
"""Most that a window samples in a rehearsal."""


@dataclass(frozen=True)
class StageFile:
    """One of the four files. number: from 1; focus: what a concern about it names."""

    number: int
    file: str
    focus: Focus

    @property
    def result(self) -> str:
        """Name of the result that it leaves."""
        return f"stage_{self.number:02d}_result.json"

    @property
    def folder(self) -> str:
        """Where later stages find what it left; windows are below `windows/`."""
        return f"stage_{self.number:02d}"


STAGES = (
    StageFile(1, "01_prep.py", Focus.PREPARATION),
    StageFile(2, "02_equilibrate.py", Focus.EQUILIBRATION),
    StageFile(3, "03_production.py", Focus.PRODUCTION),
    StageFile(4, "04_analysis.py", Focus.ANALYSIS),
)
PRODUCTION = STAGES[2]
_ENTRIES = "\n".join(each.file for each in STAGES)
_OPENING = re.compile(r"(RATIONALE|ENTRY|FILE (\S+))\s*\Z")
_WINDOWS = re.compile(r"03_production\.py windows=([1-9][0-9]{0,3})\Z")


class PipelineFormatError(Exception):
    """A reply that is no pipeline: one sentence that says in which line, and what the contract wants."""


@dataclass(frozen=True)
class Pipeline:
    """A parsed reply. windows: of production; files: name -> source, all four, in their order."""

    rationale: str
    windows: int
    files: Mapping[str, str]

    @classmethod
    def parse(cls, reply: str) -> Self:
        """The pipeline in an author's reply; PipelineFormatError where it does not keep to the form."""
        blocks = list(_blocks(reply))
        names = [name for name, _, _ in blocks]
        wanted = [RATIONALE, ENTRY, *(f"{FILE} {each.file}" for each in STAGES)]
        if names != wanted:
            raise PipelineFormatError(f"the blocks are {', '.join(names) or 'none'}; they must be {', '.join(wanted)}")
        bodies = {name: body.strip("\n") for name, _, body in blocks}
        if not bodies[RATIONALE].strip():
            raise PipelineFormatError("the block RATIONALE is empty; name the method, why it fits, and a DOI")
        sources = {
            each.file: _fenced(name, line, body) for (name, line, body), each in zip(blocks[2:], STAGES, strict=True)
        }
        return cls(bodies[RATIONALE].strip(), _windows(bodies[ENTRY]), sources)

    @property
    def reply(self) -> str:
        """The reply that parses to this pipeline."""
        entries = _ENTRIES.replace(PRODUCTION.file, f"{PRODUCTION.file} windows={self.windows}")
        files = [f"{FILE} {name}\n```python\n{source.rstrip()}\n```\n" for name, source in self.files.items()]
        return f"{RATIONALE}\n{self.rationale}\n{ENTRY}\n{entries}\n" + "".join(files)

    @property
    def digest(self) -> str:
        """Digest of what runs: sources and number of windows, not the rationale."""
        return digest({"windows": self.windows, "files": dict(self.files)})


def _blocks(reply: str) -> Iterator[tuple[str, int, str]]:
    """Opening line, its number from 1, and body of each block. What stands inside a fence opens none."""
    name, begun, fenced = "", 0, False
    body: list[str] = []
    for number, line in enumerate(reply.splitlines(), 1):
        opening = None if fenced else _OPENING.match(line)
        if opening:
            if name:
                yield name, begun, "\n".join(body)
            name, begun, body = line.strip(), number, []
            continue
        if not name and line.strip():
            raise PipelineFormatError(f"line {number}: text before the first block; begin with a line {RATIONALE}")
        if name.startswith(FILE) and line.startswith("```"):
            fenced = not fenced
        body.append(line)
    if fenced:
        raise PipelineFormatError(f"line {begun}: the fence of {name} is not closed; end it with a line ```")
    if name:
        yield name, begun, "\n".join(body)


def _fenced(name: str, line: int, body: str) -> str:
    lines = body.strip().splitlines()
    inner = lines[1:-1]
    if (
        len(lines) < 3
        or lines[0].strip() != "```python"
        or lines[-1] != "```"
        or any(each.startswith("```") for each in inner)
    ):
        raise PipelineFormatError(f"line {line}: {name} must hold one fence, from ```python to ```, and nothing else")
    return "\n".join(inner).rstrip() + "\n"


def _windows(entry: str) -> int:
    lines = [line.strip() for line in entry.strip().splitlines()]
    found = [_WINDOWS.match(line) for line in lines]
    number = next((int(each[1]) for each in found if each), None)
    names = "\n".join(PRODUCTION.file if each else line for each, line in zip(found, lines, strict=True))
    if number is None or names != _ENTRIES:
        listed = _ENTRIES.replace(PRODUCTION.file, f"{PRODUCTION.file} windows=<number>").replace("\n", ", ")
        raise PipelineFormatError(f"the block ENTRY must hold the lines {listed}")
    if not LEAST_WINDOWS <= number <= MOST_WINDOWS:
        raise PipelineFormatError(f"the block ENTRY declares {number} windows; take {LEAST_WINDOWS} to {MOST_WINDOWS}")
    return number
