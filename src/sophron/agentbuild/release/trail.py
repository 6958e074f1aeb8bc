"""The trail of a build: what it rested on, every change and every judgement; and whether its last agent passes.

    trail.json            schemas/build/trail.schema.yaml; entries are only added
    contract/             what people wrote, but the producer knowledge base
    entries/<k>/aud/      the agent that entry k ended with; entry 1 is the build, each later one a retune
    entries/<k>/...       its diffs, scorecards and audits
    releases/             packages

A release believes none of it: scores are compared anew, and every file must be the one that the trail names.

An entry is made of the records of a finished build: `build.json` (contract, handles), `iterations/<n>/` (`aud/`,
`change.json`, `diff`, `judge/<case>.json`, `verdict.json`), the audits of its agents in `records/<step>/`, and reports
in `iterations/<n>/cases/`. Model handles are not part of the contract that stays the same: a retune replaces them.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from sophron import __version__
from sophron.agentbuild.contract import folder_files
from sophron.agents.gateway.audit import NAME as AUDIT
from sophron.agents.gateway.audit import PICTURES
from sophron.interfaces import JsonObject
from sophron.records import clock, documents, events
from sophron.records.digests import digest, file_digest
from sophron.records.errors import UserError
from sophron.records.files import write_bytes, write_json
from sophron.records.typed_json import from_json, to_json

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


BUILD, HANDLES = "build.json", "models.yaml"
CHANGE, DIFF, VERDICT = "change.json", "diff", "verdict.json"


@dataclass(frozen=True)
class Source:
    """A finished build. records: folder that holds the `records/` of its agent steps."""

    build: Path
    contract: Path
    records: Path


def begin(folder: Path, source: Source) -> Trail:
    """Make the trail in `folder`, with the build as its first entry. UserError if it is not whole."""
    if (folder / NAME).exists():
        raise UserError(f"{folder / NAME}: is there already; add to it: sophron build retune {folder}")
    contract = _contract(source)
    title = documents.load_yaml(source.contract / "rubric.yaml").data["title"]
    content = Content(contract.name, title, contract, (_entry(folder, 1, "build", source),))
    for path in contract.files:
        if not path.startswith(KNOWLEDGE):
            _copy(source.contract / path.removeprefix("contract/"), folder / path)
    return _write(folder, content)


def add(folder: Path, source: Source) -> Trail:
    """Add a retune to the trail in `folder`: one entry, and nothing that is there is touched.

    Raise UserError if it was made from another contract.
    """
    trail = load(folder)
    _contract(source)
    check_same_contract(trail, source.contract)
    number = len(trail.entries) + 1
    entries = (*trail.entries, _entry(folder, number, "retune", source))
    return _write(folder, replace(trail.content, entries=entries))


def check_same_contract(trail: Trail, folder: Path) -> None:
    """Raise UserError unless the contract in `folder` is that of the trail, but for its model handles."""
    new, old = _named(folder_files(folder)), trail.contract.files
    if new != old:
        names = sorted(dict(new.items() ^ old.items()))
        raise UserError(
            f"{folder}: differs from the contract of {trail.folder / NAME} in {', '.join(names[:3])}; a "
            "retune keeps the contract, another contract is another build"
        )


def _named(files: Mapping[str, str]) -> dict[str, str]:
    """The files of a contract as a trail names them: all but the model handles, which each entry has."""
    return {f"contract/{name}": sha256 for name, sha256 in files.items() if name != HANDLES}


def _write(folder: Path, content: Content) -> Trail:
    data = to_json(content)
    for iteration in (one for entry in data["entries"] for one in entry["iterations"]):
        for key in ("started", "ended"):
            if iteration[key] is None:
                del iteration[key]
    documents.validate(documents.Document(data, folder / NAME), "build/trail")
    write_json(folder / NAME, data)
    return load(folder)


def _contract(source: Source) -> AuthoredContract:
    folder, about = source.contract, documents.load_json(source.build / BUILD)
    files = folder_files(folder)
    if digest(files) != about["digest"]:
        raise UserError(f"{folder}: is not the contract of {source.build / BUILD}; give the one that it was built from")
    rubric = documents.load_yaml(folder / "rubric.yaml").data
    curriculum = documents.load_yaml(folder / "curriculum.yaml").data
    version = about["version"]
    thresholds = {one["code"]: one["pass"] for one in rubric["dimensions"]}
    return AuthoredContract(
        name=about["contract"],
        version=version,
        authors=tuple(dict.fromkeys([*rubric["authors"], *curriculum["authors"]])),
        rubric=AuthoredRubric(version, "contract/rubric.yaml", thresholds),
        curriculum=Authored(version, "contract/curriculum.yaml"),
        files=_named(files),
    )


def _entry(folder: Path, number: int, kind: str, source: Source) -> Entry:
    home = entry_folder(folder, number)
    shutil.rmtree(home, ignore_errors=True)  # cut off before the trail named it
    places = sorted(
        (path.parent for path in source.build.glob(f"iterations/*/{VERDICT}")), key=lambda path: int(path.name)
    )
    if not places:
        raise UserError(f"{source.build}: no iteration of it has a verdict; run the build to its end first")
    shutil.copytree(places[-1] / "aud", home / "aud", ignore=shutil.ignore_patterns("__pycache__"))
    tools = {"sophron": __version__}
    for path in sorted(source.build.glob("iterations/*/cases/*/report.json")):
        report = documents.load_json(path)
        if "engine_version" in report:
            tools[report["engine"]] = report["engine_version"]
    inventory = source.contract / "tools.yaml"
    return Entry(
        kind=kind,
        recorded=clock.isoformat(),
        models=documents.load_json(source.build / BUILD)["handles"],
        tools=tools,
        inventory=tuple(sorted(documents.load_yaml(inventory).data["tools"])) if inventory.is_file() else (),
        iterations=tuple(_iteration(folder, home / "iterations" / place.name, place, source) for place in places),
    )


def _iteration(folder: Path, home: Path, place: Path, source: Source) -> TrailIteration:
    change, verdict = (documents.load_json(place / name) for name in (CHANGE, VERDICT))
    number = int(place.name)
    diff = None
    if (place / DIFF).stat().st_size:
        status = "rolled_back" if change["refusal"] else "applied"
        kept = _kept(folder, place / DIFF, home / DIFF)
        diff = Diff(kept.file, kept.sha256, status, change["refusal"], change["rationale"])
    cases = tuple(_case(folder, home, card, number, source) for card in sorted(place.glob("judge/*.json")))
    started, ended = _times(number, source.records)
    parent, active = change["parent"], tuple(verdict["active"])
    return TrailIteration(number, change["agent"], parent, diff, active, cases, started, ended)


def _case(folder: Path, home: Path, card: Path, number: int, source: Source) -> JudgedCase:
    """A case with its scorecard and the audits of its judges, which are copied."""
    found = [_kept(folder, card, home / "judge" / card.name)]
    for step in (f"screen-{number}-{card.stem}", f"score-{number}-{card.stem}-*"):
        for audit in sorted(source.records.glob(f"records/{step}/{AUDIT}")):
            kept = home / "audits" / audit.parent.name
            found.append(_kept(folder, audit, kept.with_name(f"{kept.name}.jsonl")))
            seen = sorted((audit.parent / PICTURES).glob("*"))
            found += [_kept(folder, picture, kept / picture.name) for picture in seen]
    return JudgedCase(card.stem, _scores(card), tuple(found))


def _scores(card: Path) -> dict[str, float]:
    """Code -> score; none if the run could not be scored."""
    data = documents.load_json(card)
    return {one["code"]: one["score"] for one in data["dimensions"]} if data["screening"]["passed"] else {}


def _times(number: int, records: Path) -> tuple[str | None, str | None]:
    """When the agents of an iteration answered, first and last; nothing if no event says so."""
    steps = tuple(f"{part}-{number}" for part in ("attempt", "screen", "score", "optimize"))
    found = [event["time"] for event in events.read(records)[0] if _is_of(event.get("step", ""), steps)]
    return (min(found), max(found)) if found else (None, None)


def _is_of(step: str, steps: Iterable[str]) -> bool:
    return any(step == one or step.startswith(f"{one}-") for one in steps)


def _kept(folder: Path, source: Path, target: Path) -> Kept:
    """Copy a file into the trail; how the trail names it."""
    _copy(source, target)
    return Kept(target.relative_to(folder).as_posix(), file_digest(target))


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink():
        raise UserError(f"{source}: is a link; a trail holds plain files")
    write_bytes(target, source.read_bytes())
