"""The trail of a build: what it rested on, every change and every judgement; and whether its last agent passes.

    trail.json            schemas/build/trail.schema.yaml; entries are only added
    contract/             what people wrote, but the producer knowledge base
    entries/<k>/aud/      the agent that entry k ended with; entry 1 is the build, each later one a retune
    entries/<k>/...       its diffs, scorecards and audits
    releases/             packages

A release believes none of it: scores are compared anew, and every file must be the one that the trail names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sophron.interfaces import JsonObject
from sophron.records import documents
from sophron.records.digests import digest, file_digest
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json

NAME = "trail.json"
KNOWLEDGE = "contract/knowledge/"
"""The producer knowledge base: the trail names its files, and nothing that is handed out holds them."""


@dataclass(frozen=True)
class Kept:
    """A file of the trail, relative to its folder, with its digest."""

    file: str
    sha256: str


@dataclass(frozen=True)
class Diff(Kept):
    """A change that was proposed. status: `applied`, or `rolled_back` for a reason."""

    status: str
    reason: str
    rationale: str


@dataclass(frozen=True)
class JudgedCase:
    """What was found of a case. scores: by dimension, empty if it could not be scored; transcripts: card and audits."""

    case: str
    scores: Mapping[str, float]
    transcripts: tuple[Kept, ...]


@dataclass(frozen=True)
class TrailIteration:
    """An iteration. aud: digest of its agent; active: cases that count; started, ended: when its agents answered."""

    number: int
    aud: str
    parent: int | None
    diff: Diff | None
    active: tuple[str, ...]
    cases: tuple[JudgedCase, ...]
    started: str | None = None
    ended: str | None = None

    @property
    def files(self) -> Iterator[Kept]:
        """Its files."""
        if self.diff:
            yield self.diff
        for case in self.cases:
            yield from case.transcripts


@dataclass(frozen=True)
class Entry:
    """The build, or a retune (kind). models: part -> who answered; tools: program -> version; inventory: tool names."""

    kind: str
    recorded: str
    models: Mapping[str, Mapping[str, object]]
    tools: Mapping[str, str]
    inventory: tuple[str, ...]
    iterations: tuple[TrailIteration, ...]


@dataclass(frozen=True)
class Authored:
    """A file that people wrote."""

    version: str
    file: str


@dataclass(frozen=True)
class AuthoredRubric(Authored):
    """The rubric. thresholds: dimension -> least score that passes."""

    thresholds: Mapping[str, float]


@dataclass(frozen=True)
class AuthoredContract:
    """The contract of all entries. files: path -> sha256."""

    name: str
    version: str
    authors: tuple[str, ...]
    rubric: AuthoredRubric
    curriculum: Authored
    files: Mapping[str, str]

    @property
    def parts(self) -> Mapping[str, Authored]:
        """Rubric and curriculum by name."""
        return {"rubric": self.rubric, "curriculum": self.curriculum}


@dataclass(frozen=True)
class Content:
    """What `trail.json` says."""

    agent: str
    about: str
    contract: AuthoredContract
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Trail:
    """A trail, read and checked. folder: of the build; data: `trail.json` as it stands, content: the same, typed."""

    folder: Path
    data: JsonObject

    @cached_property
    def content(self) -> Content:
        """What it says."""
        return from_json(Content, self.data)

    @property
    def contract(self) -> AuthoredContract:
        """The authored contract."""
        return self.content.contract

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The build, then each retune."""
        return self.content.entries

    @property
    def last(self) -> TrailIteration:
        """The last iteration of the last entry."""
        return self.entries[-1].iterations[-1]

    @property
    def aud(self) -> Path:
        """Folder of the agent that the last entry ended with."""
        return entry_folder(self.folder, len(self.entries)) / "aud"

    @property
    def contract_digest(self) -> str:
        """Digest over names and content of the contract's files."""
        return digest(self.contract.files)

    @property
    def digest(self) -> str:
        """Digest of the trail."""
        return digest(self.data)


def entry_folder(folder: Path, number: int) -> Path:
    """Return where the files of an entry lie, from 1."""
    return folder / "entries" / str(number)


def load(folder: Path) -> Trail:
    """Read the trail in `folder`. UserError if it is not sound or a file is not what it names."""
    path = folder / NAME
    data = documents.load_json(path)
    documents.validate(documents.Document(data, path), "build/trail")
    trail = Trail(folder, data)
    for kept in named(trail):
        found = folder / kept.file
        if ".." in kept.file or not found.is_file() or found.is_symlink() or file_digest(found) != kept.sha256:
            raise UserError(f"{found}: is not the file that {NAME} names (sha256 {kept.sha256[:12]}...); restore it")
    for part, authored in trail.contract.parts.items():
        if authored.file not in trail.contract.files:
            raise UserError(f"{path}: contract.{part}.file is none of contract.files; add it there")
    return trail


def named(trail: Trail) -> Iterator[Kept]:
    """Yield every file that has to be there: the contract's, diffs, transcripts."""
    files = trail.contract.files.items()
    yield from (Kept(name, sha256) for name, sha256 in files if not name.startswith(KNOWLEDGE))
    for entry in trail.entries:
        for iteration in entry.iterations:
            yield from iteration.files


def misses(contract: AuthoredContract, iteration: TrailIteration) -> list[str]:
    """Return what keeps an iteration from P-strict, a sentence part each; empty if it passes.

    P-strict (AgentBuild, II-C): in one iteration the scores meet the thresholds of all dimensions for all active
    cases. A case or a dimension without a score misses.
    """
    scores = {case.case: case.scores for case in iteration.cases}
    found = [] if iteration.active else ["no case was run"]
    for case in iteration.active:
        if not scores.get(case):
            found.append(f"{case} has no scores")
            continue
        for code, least in contract.rubric.thresholds.items():
            got = scores[case].get(code)
            if got is None or got < least:
                found.append(f"{case} has {'no ' + code if got is None else f'{code} {got:g}'} (least {least:g})")
    return found
