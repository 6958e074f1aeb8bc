"""Compute the numbers of a finished campaign again from the files that lie there, and compare.

Stages that a kind calls rederivable are run again into a folder of their own, on the files of the stages before them;
verdicts are judged and the report is rendered again from what came out. What an engine or an agent made cannot be
derived: its bytes are held against the digests that other records have of it, and it is marked.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sophron.campaign.execution import outcome_store, verdict
from sophron.campaign.execution.outcome_store import Finished, Outcome, OutputFile
from sophron.campaign.planning import plan
from sophron.campaign.report import signed_records
from sophron.campaign.report.compare_values import MISSING, Pair, equal, file_pairs, leaves, pairs
from sophron.campaign.spec.spec import Spec
from sophron.interfaces.kind import EngineFailure, EnvironmentFailure, StageKind, StepContext, StepResult
from sophron.records import approvals, documents
from sophron.records.digests import digest, file_digest, step_name
from sophron.records.errors import Refused, UserError
from sophron.records.typed_json import to_json

StageFunction = Callable[[StepContext], StepResult]
Render = Callable[[Mapping[str, Finished]], "Rendered"]
"""Step -> what was derived for it; returns the report."""
BLANK = re.compile(r"\s+")


class State(StrEnum):
    """What a comparison says."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_REDERIVABLE = "not re-derivable"


@dataclass(frozen=True)
class Check:
    """One number. file: where it is recorded, relative to the campaign; reason: why it cannot be derived."""

    number: str
    file: str
    recorded: object
    rederived: object
    state: State
    reason: str = ""


@dataclass(frozen=True)
class Rendered:
    """A report. page: HTML; stated: what its RO-Crate says of campaign and answers, by @id."""

    page: str
    stated: Mapping[str, Mapping[str, object]]


@dataclass
class Rederivation:
    """A campaign, derived again step by step. known: step -> its outcome, derived again where that can be done.

    function: loads the function of a stage from its name; folder: where the steps work.
    """

    root: Path
    spec: Spec
    function: Callable[[str], StageFunction]
    folder: Path
    known: dict[str, Finished] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)

    def compare(self, file: Path, found: Sequence[Pair]) -> None:
        """Note whether each pair agrees."""
        name = os.path.relpath(file, self.root)
        for number, recorded, derived in found:
            state = State.AGREES if equal(recorded, derived) else State.DIFFERS
            self.checks.append(Check(number, name, recorded, derived, state))

    def mark(self, file: Path, recorded: object, reason: str) -> None:
        """Note that the values in `recorded` cannot be derived."""
        name = os.path.relpath(file, self.root)
        for number, value in leaves(recorded).items():
            self.checks.append(Check(number, name, value, None, State.NOT_REDERIVABLE, reason))


def rederive(root: Path, spec: Spec, function: Callable[[str], StageFunction], render: Render) -> list[Check]:
    """Derive everything that can be derived, and return one check a number."""
    with tempfile.TemporaryDirectory(prefix="sophron-rederive-") as folder:
        work = Rederivation(root, spec, function, Path(folder))
        for stage in spec.stages:
            for part in (spec.parts[one.name] for one in stage.parts if one.name in spec.parts):
                _steps(work, part)
            steps = _steps(work, stage)
            if len(steps) == len(spec.steps(stage.name)):
                _verdict(work, stage.name, steps)
        _report(work, render)
        _signed(work)
        return work.checks


def _steps(work: Rederivation, unit: StageKind) -> list[Finished]:
    """Check all steps of a stage or part that are there; return them as recorded, but with the derived outcome."""
    judged = []
    for wildcards in work.spec.steps(unit.name):
        step = step_name(unit.name, wildcards)
        noted = outcome_store.noted(work.root, step)
        if noted is None:
            continue
        if not noted.is_file():
            work.compare(noted, [("outcome", "published", MISSING)])
            continue
        recorded = outcome_store.finished(work.root, work.spec, unit.name, wildcards)
        if unit.name in work.spec.parts and not outcome_store.is_current(work.root, recorded):
            continue
        _check_bytes(work, recorded, host_rules=bool(unit.host_rules))
        work.known[step] = _derived(work, unit, recorded) or recorded
        judged.append(replace(recorded, outcome=work.known[step].outcome))
    return judged


def _check_bytes(work: Rederivation, recorded: Finished, *, host_rules: bool) -> None:
    """Hold the files of a step against its outcome, and those that it was made of against its inputs."""
    host = _host_files(work, recorded) if host_rules else {}
    for name, path in recorded.files.items():
        there = file_digest(path) if path.is_file() else MISSING
        work.compare(path, [(f"sha256 of {name}", recorded.outcome.files[name].sha256, there)])
    for step, made_of in recorded.outcome.inputs.items():
        outcome = host.get(step) or outcome_store.published(work.root, step)
        if outcome is None and host_rules:
            work.mark(recorded.path, made_of, f"{step} is not there any more")
            continue
        there = file_digest(outcome) if outcome else MISSING
        work.compare(recorded.path, [(f"inputs.{step}", made_of, there)])


def _derived(work: Rederivation, unit: StageKind, recorded: Finished) -> Finished | None:
    """The step, run again and compared; None if it cannot be."""
    if not unit.rederivable:
        engine = work.spec.engine(unit.name)
        reason = f"{engine} made it" if engine else f"{unit.name} is not an analysis of files"
        work.mark(recorded.path, recorded.outcome.result, reason)
        return None
    try:
        documents.validate(documents.Document(recorded.outcome.result, recorded.path), unit.schema, "result")
        derived = _run(work, unit, recorded)
    except (EnvironmentFailure, UserError, Refused, OSError, ImportError) as error:
        work.mark(recorded.path, recorded.outcome.result, str(error))
        return None
    about = ("status", recorded.outcome.status, derived.outcome.status)
    found = [about, *pairs(recorded.outcome.result, derived.outcome.result)]
    work.compare(recorded.path, found)
    for name, path in recorded.files.items():
        if path.is_file():
            _compare_file(work, path, derived.files[name])
    return derived


def _host_files(work: Rederivation, recorded: Finished) -> dict[str, Path]:
    """The files of the host that a step read, as far as they are still there."""
    folder = plan.host_workdir(work.root, work.spec.host) if work.spec.host else work.root
    named = (name for name in recorded.outcome.inputs if outcome_store.noted(work.root, name) is None)
    return {name: folder / name for name in named if (folder / name).exists()}


def _compare_file(work: Rederivation, recorded: Path, derived: Path) -> None:
    try:
        work.compare(recorded, list(file_pairs(recorded, derived)) or [("content", "equal", "equal")])
    except (OSError, ValueError, EOFError) as error:
        work.compare(recorded, [("content", f"unreadable ({error})", "a file of its kind")])


def _run(work: Rederivation, unit: StageKind, recorded: Finished) -> Finished:
    """The finished step as its function makes it now, in a folder of its own."""
    folder = work.folder / recorded.step
    log_dir = folder / "1"
    log_dir.mkdir(parents=True)
    context = StepContext(
        stage=unit.name,
        wildcards=recorded.wildcards,
        definition=work.spec.definition(unit.name),
        upstream=outcome_store.as_upstream(_upstream(work, unit, recorded)),
        previous=outcome_store.as_upstream(outcome_store.previous(work.root, work.spec, unit, recorded.wildcards)),
        workdir=folder,
        log_dir=log_dir,
        seed=work.spec.seed(unit.name, recorded.wildcards),
        spec_seed=work.spec.data["seed"],
        files=_host_files(work, recorded) if unit.host_rules else {},
    )
    try:
        made, reason = work.function(unit.run)(context), None
    except EngineFailure as failure:
        if failure.curable_by or isinstance(failure, EnvironmentFailure):
            raise EnvironmentFailure(failure.reason) from failure
        made, reason = StepResult({}), failure.reason
    return _as_finished(folder, unit, recorded, made, reason)


def _as_finished(folder: Path, unit: StageKind, recorded: Finished, made: StepResult, reason: str | None) -> Finished:
    files = {}
    for name, file_name in unit.outputs.items():
        path = folder / file_name
        if reason is not None:
            path.write_bytes(b"")
        elif made.files.get(name, path) != path:
            made.files[name].rename(path)
        files[name] = OutputFile(file_name, file_digest(path), path.stat().st_size)
    status = outcome_store.DONE if reason is None else "failed"
    # As it lies in an outcome, whose keys are sorted: a table of the report has its columns in their order.
    result = json.loads(json.dumps(to_json(dict(made.result)), sort_keys=True))
    outcome: Outcome = replace(recorded.outcome, status=status, reason=reason, result=result, files=files)
    return replace(recorded, path=folder / "outcome.json", outcome=outcome)


def _upstream(work: Rederivation, unit: StageKind, recorded: Finished) -> dict[str, list[Finished]]:
    """What the step builds on: derived again if that was done, else as it lies there."""
    gathered = {}
    for name in unit.depends_on:
        steps = [step_name(name, other) for other in outcome_store.sharing(work.spec, name, recorded.wildcards)]
        missing = next((step for step in steps if step not in work.known), None)
        if missing:
            raise UserError(f"{missing} is not there")
        gathered[name] = [outcome_store.usable(work.known[step]) for step in steps]
    for name in unit.builds_on:
        found = outcome_store.of_loop(work.root, work.spec, name, recorded.wildcards)
        gathered[name] = [work.known.get(one.step, one) for one in found]
    return gathered


def _verdict(work: Rederivation, stage: str, steps: Sequence[Finished]) -> None:
    path = steps[0].path.parents[len(steps[0].wildcards)] / "verdict.json"
    if not path.is_file():
        work.mark(path, None, "there is no verdict")
        return
    recorded = documents.load_json(path)
    derived = verdict.judge_steps(work.spec, stage, steps)
    work.compare(path, pairs(recorded, to_json(derived)))
    for note in (path.with_name("accepted.json"), path.with_name("passed")):
        if note.is_file():
            work.compare(note, pairs(json.loads(note.read_bytes()), to_json(verdict.acceptance(derived))))


def _signed(work: Rederivation) -> None:
    """Hold approvals, the spec and what amendments set aside against what was signed."""
    if not approvals.logged(work.root):
        work.mark(work.spec.document.path, None, "nobody signed it")
    found = [*signed_records.signatures(work.root), *signed_records.in_force(work.root)]
    try:
        found += signed_records.set_aside(work.root)
    except (UserError, Refused, OSError) as error:
        found.append((work.root / "invalidated", [("manifests", "as signed", str(error))]))
    for path, about in found:
        work.compare(path, about)


def _report(work: Rederivation, render: Render) -> None:
    """The page, rendered again from what was derived, held against the one that is there."""
    name, crate_name, caveats = outcome_store.REPORT_NAMES
    folders = {step.path.parents[len(step.wildcards) + 1] for step in work.known.values()}
    path = next(
        (folder / name for folder in sorted(folders) if (folder / name).is_file()), work.root / "results" / name
    )
    if not path.is_file():
        work.mark(path, None, "there is no report")
        return
    work.mark(path.with_name(caveats), "text", "an agent wrote it")
    try:
        rendered = render(work.known)
    except (UserError, Refused) as error:  # a page is there, but no longer what it was made of
        work.compare(path, [("page", "a page", str(error))])
        return
    recorded, derived = _page_pieces(path.read_text(encoding="utf-8")), _page_pieces(rendered.page)
    work.compare(path, list(_piece_pairs(recorded, derived)) or [("page", "equal", "equal")])
    if (crate := path.with_name(crate_name)).is_file():
        work.compare(crate, list(_crate_pairs(crate, rendered.stated)))


def _crate_pairs(crate: Path, stated: Mapping[str, Mapping[str, object]]) -> Iterator[Pair]:
    """What an RO-Crate says of the campaign and its answers, and the digest and size of each file that it lists."""
    entities = {one["@id"]: one for one in documents.load_json(crate)["@graph"]}
    for name, said in stated.items():
        there = entities.get(name, {})
        yield from pairs({key: there.get(key, MISSING) for key in said}, said, name)
    for name, entity in entities.items():
        if "sha256" in entity:
            path = Path(unquote(urlsplit(name).path)) if name.startswith("file:") else crate.parent / unquote(name)
            made = file_digest(path) if path.is_file() else MISSING
            yield f"{name}.sha256", entity["sha256"], made
            if made != MISSING:
                yield f"{name}.contentSize", entity.get("contentSize", MISSING), str(path.stat().st_size)


def _piece_pairs(recorded: Sequence[str], derived: Sequence[str]) -> Iterator[Pair]:
    """Pieces of two pages that differ, named by the piece before them."""
    for tag, a, b, c, d in difflib.SequenceMatcher(None, recorded, derived, autojunk=False).get_opcodes():
        if tag != "equal":
            before = recorded[a - 1] if a else "page"
            yield f'after "{before}"', " ".join(recorded[a:b]) or MISSING, " ".join(derived[c:d]) or MISSING


def _page_pieces(text: str) -> list[str]:
    pieces = _Pieces()
    pieces.feed(text)
    return pieces.found


class _Pieces(HTMLParser):
    """The texts of a page in their order, and each picture as a digest."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        source = dict(attrs).get("src") if tag == "img" else None
        if source:
            self.found.append(f"picture {digest(source)[:12]}")

    def handle_data(self, data: str) -> None:
        if piece := BLANK.sub(" ", data).strip():
            self.found.append(piece)
