"""From the records of a finished build to an entry of a trail: copies of what happened, each with its digest.

A build leaves `build.json` (contract, handles), `iterations/<n>/` (`aud/`, `change.json`, `diff`, `judge/<case>.json`,
`verdict.json`), the audits of its agents in `records/<step>/`, and reports in `iterations/<n>/cases/`. The contract is
a folder beside; its model handles are not part of what stays the same, for a retune replaces them.
"""

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sophron import __version__
from sophron.agentbuild.release import trail as trails
from sophron.agentbuild.release.trail import (
    KNOWLEDGE,
    Authored,
    AuthoredContract,
    AuthoredRubric,
    Content,
    Diff,
    Entry,
    JudgedCase,
    Kept,
    Trail,
    TrailIteration,
)
from sophron.agents.gateway.audit import NAME as AUDIT
from sophron.agents.gateway.audit import PICTURES
from sophron.records import clock, documents, events
from sophron.records.digests import digest, file_digest
from sophron.records.errors import UserError
from sophron.records.files import write_bytes, write_json
from sophron.records.typed_json import to_json

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
    if (folder / trails.NAME).exists():
        raise UserError(f"{folder / trails.NAME}: is there already; add to it: sophron build retune {folder}")
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
    trail = trails.load(folder)
    _contract(source)
    check_same_contract(trail, source.contract)
    number = len(trail.entries) + 1
    entries = (*trail.entries, _entry(folder, number, "retune", source))
    return _write(folder, replace(trail.content, entries=entries))


def check_same_contract(trail: Trail, folder: Path) -> None:
    """Raise UserError unless the contract in `folder` is that of the trail, but for its model handles."""
    new, old = _named(_files(folder)), trail.contract.files
    if new != old:
        names = sorted(dict(new.items() ^ old.items()))
        raise UserError(
            f"{folder}: differs from the contract of {trail.folder / trails.NAME} in {', '.join(names[:3])}; a "
            "retune keeps the contract, another contract is another build"
        )


def _files(folder: Path) -> dict[str, str]:
    """Path in a contract -> sha256."""
    names = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in names}


def _named(files: Mapping[str, str]) -> dict[str, str]:
    """The files of a contract as a trail names them: all but the model handles, which each entry has."""
    return {f"contract/{name}": sha256 for name, sha256 in files.items() if name != HANDLES}


def _write(folder: Path, content: Content) -> Trail:
    data = to_json(content)
    for iteration in (one for entry in data["entries"] for one in entry["iterations"]):
        for key in ("started", "ended"):
            if iteration[key] is None:
                del iteration[key]
    documents.validate(documents.Document(data, folder / trails.NAME), "build/trail")
    write_json(folder / trails.NAME, data)
    return trails.load(folder)


def _contract(source: Source) -> AuthoredContract:
    folder, about = source.contract, documents.load_json(source.build / BUILD)
    files = _files(folder)
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
    home = trails.entry_folder(folder, number)
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
