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
from pathlib import Path
from typing import Any

from sophron.records import documents
from sophron.records.canonical_json import digest, file_digest
from sophron.records.errors import UserError

NAME = "trail.json"
KNOWLEDGE = "contract/knowledge/"
"""The producer knowledge base: the trail names its files, and nothing that is handed out holds them."""


@dataclass(frozen=True)
class Trail:
    """A trail, read and checked. folder: of the build."""

    folder: Path
    data: Mapping[str, Any]

    @property
    def contract(self) -> Mapping[str, Any]:
        """The authored contract."""
        found: Mapping[str, Any] = self.data["contract"]
        return found

    @property
    def entries(self) -> list[Mapping[str, Any]]:
        """The build, then each retune."""
        return list(self.data["entries"])

    @property
    def last(self) -> Mapping[str, Any]:
        """The last iteration of the last entry."""
        found: Mapping[str, Any] = self.entries[-1]["iterations"][-1]
        return found

    @property
    def aud(self) -> Path:
        """Folder of the agent that the last entry ended with."""
        return entry_folder(self.folder, len(self.entries)) / "aud"

    @property
    def contract_digest(self) -> str:
        """Digest over names and content of the contract's files."""
        return digest(self.contract["files"])

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
    for name, sha256 in named(trail):
        found = folder / name
        if ".." in name or not found.is_file() or found.is_symlink() or file_digest(found) != sha256:
            raise UserError(f"{found}: is not the file that {NAME} names (sha256 {sha256[:12]}...); restore it")
    for part in ("rubric", "curriculum"):
        if trail.contract[part]["file"] not in trail.contract["files"]:
            raise UserError(f"{path}: contract.{part}.file is none of contract.files; add it there")
    return trail


def named(trail: Trail) -> Iterator[tuple[str, str]]:
    """Yield every file that has to be there, with its sha256: the contract's, diffs, transcripts."""
    contract = trail.contract["files"]
    yield from ((name, sha256) for name, sha256 in contract.items() if not name.startswith(KNOWLEDGE))
    for entry in trail.entries:
        for iteration in entry["iterations"]:
            yield from of_iteration(iteration)


def of_iteration(iteration: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the files of one iteration, with their sha256."""
    if iteration["diff"]:
        yield iteration["diff"]["file"], iteration["diff"]["sha256"]
    for case in iteration["cases"]:
        yield from ((one["file"], one["sha256"]) for one in case["transcripts"])


def misses(contract: Mapping[str, Any], iteration: Mapping[str, Any]) -> list[str]:
    """Return what keeps an iteration from P-strict, a sentence part each; empty if it passes.

    P-strict (AgentBuild, II-C): in one iteration the scores meet the thresholds of all dimensions for all active
    cases. A case or a dimension without a score misses.
    """
    scores = {case["case"]: case["scores"] for case in iteration["cases"]}
    found = [] if iteration["active"] else ["no case was run"]
    for case in iteration["active"]:
        if not scores.get(case):
            found.append(f"{case} has no scores")
            continue
        for code, least in contract["rubric"]["thresholds"].items():
            got = scores[case].get(code)
            if got is None or got < least:
                found.append(f"{case} has {'no ' + code if got is None else f'{code} {got:g}'} (least {least:g})")
    return found
