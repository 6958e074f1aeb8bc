"""Parts of the kind task: the pre-scan, how programs assess an attempt, what it comes to, and how the task ends."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from sophron.interfaces.kind import Definition, EngineFailure, StepContext, StepResult, UpstreamStep
from sophron.interfaces.sandbox import SandboxBackend
from sophron.kinds.task.kind import ASSESS, CALLS, CONCLUDE, FILES, MANIFEST, PRESCAN, REVIEW, TREE, WORK, rule_of
from sophron.records import SPEC_NAME
from sophron.records.digests import digest, file_digest
from sophron.records.errors import UserError
from sophron.records.files import load_json, read_text, write_json, write_text
from sophron.records.typed_json import from_json, left_out, load, to_json
from sophron.sandbox import select_backend
from sophron.tasks import (
    attempts,
    environment,
    fabrication,
    folder_tree,
    harbor_folder,
    judgement,
    scifi_markdown,
    tool_history,
    verification,
)
from sophron.tasks.attempts import MOST_WORK_BYTES, RebuiltEnvironment
from sophron.tasks.environment import Box, Python
from sophron.tasks.expectations import Expectation
from sophron.tasks.fabrication import Fabrication
from sophron.tasks.harbor_folder import HarborTask
from sophron.tasks.tool_history import RecordedCall
from sophron.tasks.verification import Verified

ENVIRONMENTS = ("scratch", "environments")
"""Where virtual environments of a campaign's tasks are."""
DONE, IMPOSSIBLE = "done", "impossible"
"""What a worker says of its attempt."""
TESTS = "the tests"
MOST_OUTPUT = 4000
"""Characters of the tests' output that a worker is told, if that was signed."""
FAILED_TEST = re.compile(r"^FAILED \S*?(?:::)?([\w.\[\]-]+)(?: - .*)?$", re.MULTILINE)
"""A line of pytest's summary: the name of a test that failed."""
NO_TESTS: Mapping[str, Any] = {
    "passed": True,
    "reward": None,
    "rewards": {},
    "fault": "",
    "exit_code": 0,
    "limit": "",
    "wall_time_s": 0.0,
    "stubs": [],
    "left_out": [],
}
"""What tests say of a task that has none."""


@dataclass(frozen=True)
class Attempt:
    """One line of a task's history, as the next attempt is told of it.

    status: what the worker said, or why there is no answer; failed: names of checks; objections: of the reviewer;
    output: of the tests, if that was signed.
    """

    attempt: int
    status: str
    summary: str
    met: bool
    failed: tuple[str, ...]
    objections: tuple[str, ...] = ()
    output: str = left_out("")


def campaign_above(folder: Path) -> Path:
    """Return the campaign's folder: the nearest one above a scratch folder that holds a spec."""
    return next((path for path in folder.absolute().parents if (path / SPEC_NAME).is_file()), Path.cwd())


def signed_folder(definition: Definition, root: Path) -> HarborTask:
    """Return the task of the folder that a definition names, if it is still the one that was signed. UserError."""
    folder = root / definition["folder"]
    task = harbor_folder.read(folder)
    if digest(dict(task.files)) != definition["folder_digest"]:
        raise UserError(
            f"{folder}: is not the task that was signed ({digest(dict(task.files))[:12]} and not "
            f"{definition['folder_digest'][:12]}); restore it, or amend folder_digest"
        )
    return task


def signed_inputs(definition: Definition, root: Path) -> dict[str, Path]:
    """Return the files of a task in Markdown, path in the work folder -> file of the campaign.

    UserError if one is not that which was signed.
    """
    found = {}
    for name, signed in definition.get("inputs", {}).items():
        path = root / definition["input_folder"] / name
        if file_digest(path, missing_ok=True) != signed:
            raise UserError(f"{path}: is not the file that was signed; restore it, or amend inputs")
        found[name] = path
    return found


def signed_tests(definition: Definition, root: Path) -> Path | None:
    """Return the folder with the test programs of a task in Markdown; UserError if it is not that which was signed."""
    if "tests" not in definition:
        return None
    folder = root / str(definition["tests"])
    if digest(folder_tree.digests(folder)) != definition["tests_digest"]:
        raise UserError(f"{folder}: is not what was signed; restore it, or amend tests_digest")
    return folder


def box_of(task: HarborTask | None, tree: Path, prefix: Path | None = None) -> Box:
    """Return the box of a task around a tree. task: None for one in Markdown; prefix: of its Python."""
    if task is None:
        return judgement.markdown_box(tree)
    recipe = attempts.read_recipe(task)
    memory_mb = task.memory_mb or environment.DEFAULT_MEMORY_MB
    workdir = environment.workdir_of(task, recipe)
    return Box(tree, Python(prefix or Path(sys.prefix)), recipe, workdir, env=task.env, memory_mb=memory_mb)


def inside(tree: Path, place: str) -> Path:
    """Return where an absolute path inside is in a tree."""
    return tree.joinpath(*PurePosixPath(place).parts[1:])


def signed_expectations(definition: Definition) -> tuple[Expectation, ...]:
    """Return the sentences of a definition with the checks that were signed for each."""
    return tuple(
        from_json(
            Expectation,
            {"line": 0, "checks": [], **{key: value for key, value in about.items() if key != "judged_by"}},
        )
        for about in definition.get("expectations", ())
    )


def judged_sentences(definition: Definition) -> list[str]:
    """Return the sentences that were signed as the reviewer's to judge."""
    return [about["text"] for about in definition.get("expectations", ()) if "judged_by" in about]


def prescan(ctx: StepContext) -> StepResult:
    """Rebuild the environment of a task, and make the tree that its first attempt begins with.

    Files that sub-tasks made or changed are in the work folder. EngineFailure if two of them left different ones.
    """
    root, tree = campaign_above(ctx.workdir), ctx.workdir / "tree"
    if tree.exists():
        shutil.rmtree(tree)
    sandbox, made = select_backend.choose(), RebuiltEnvironment("", "")
    task = signed_folder(ctx.definition, root) if "folder" in ctx.definition else None
    if task is None:
        workdir = inside(tree, judgement.MARKDOWN_WORKDIR)
        (tree / environment.HOME).mkdir(parents=True)
        workdir.mkdir()
        for name, path in signed_inputs(ctx.definition, root).items():
            (workdir / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, workdir / name)
    else:
        place = ctx.workdir / "rebuilt"
        made = attempts.rebuild(task.folder, place, root.joinpath(*ENVIRONMENTS), sandbox)
        if made.refused:
            raise UserError(made.refused)
        (place / attempts.TREE).rename(tree)
        workdir = inside(tree, environment.workdir_of(task, attempts.read_recipe(task)))
    _take_over(ctx, workdir)
    return _scanned(ctx, tree, made)


def _scanned(ctx: StepContext, tree: Path, made: RebuiltEnvironment) -> StepResult:
    """Pack a tree; of the environment, prefixes by their names, since outputs hold no path of a machine."""
    files = {name: ctx.workdir / file for name, file in FILES.items() if name != CALLS}
    folder_tree.pack(tree, files[TREE])
    manifest = folder_tree.digests(tree)
    write_json(files[MANIFEST], manifest)
    named = replace(made, prefixes={use: Path(path).name for use, path in made.prefixes.items()})
    write_json(place := ctx.workdir / "environment.json", to_json(named))
    result = {
        "files": len(manifest),
        "bytes": files[TREE].stat().st_size,
        "python": made.python,
        "notes": [*made.notes],
    }
    return StepResult(result, {**files, "environment": place})


def _take_over(ctx: StepContext, workdir: Path) -> None:
    """Put what sub-tasks made into the work folder."""
    given = folder_tree.digests(workdir)
    taken: dict[str, tuple[str, str]] = {}
    stage = ctx.stage.removeprefix(f"{PRESCAN}_")
    for below, steps in sorted(ctx.upstream.items()):
        tree = ctx.workdir / f"from-{below}"
        if tree.exists():
            shutil.rmtree(tree)
        folder_tree.unpack(steps[0].files[TREE], tree, MOST_WORK_BYTES)
        top = tree / PurePosixPath(judgement.MARKDOWN_WORKDIR).name
        for name in folder_tree.names(top) if top.is_dir() else ():
            if (own := file_digest(top / name)) == given.get(name):
                continue
            if taken.setdefault(name, (below, own))[1] != own:
                raise EngineFailure(f"{stage}: the sub-tasks {taken[name][0]} and {below} left different files {name}")
            (workdir / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(top / name, workdir / name)
        shutil.rmtree(tree)


def prefix_of(root: Path, made: RebuiltEnvironment, use: str) -> Path | None:
    """Return the virtual environment of a use; None for a task in Markdown."""
    return root.joinpath(*ENVIRONMENTS, made.prefixes[use]) if made.prefixes else None


def assess(ctx: StepContext) -> StepResult:
    """What programs find of one attempt: the tests in their own sandbox, and the checks of each sentence.

    What an attempt that ended early left is assessed too; one that left nothing, on an empty tree.
    """
    stage = ctx.stage.removeprefix(f"{ASSESS}_")
    (worked,), (scanned,) = ctx.upstream[rule_of(WORK, stage)], ctx.upstream[rule_of(PRESCAN, stage)]
    root = campaign_above(ctx.workdir)
    task = signed_folder(ctx.definition, root) if "folder" in ctx.definition else None
    sandbox, log = select_backend.choose(), ctx.workdir / "test-stdout.txt"
    made = load(scanned.files["environment"], RebuiltEnvironment)
    fresh = _unpacked(scanned.files[TREE], ctx.workdir / "fresh")
    box = box_of(task, fresh, prefix_of(root, made, attempts.TESTS))
    work = _unpacked(worked.files.get(TREE), ctx.workdir / "work")
    verified = _verified(task, box, work, ctx.workdir, sandbox)
    calls = tool_history.load(worked.files[CALLS]) if CALLS in worked.files else ()
    top = f"{box.workdir.strip('/')}/"
    given = {
        name.removeprefix(top): one for name, one in load_json(scanned.files[MANIFEST]).items() if name.startswith(top)
    }
    found = judgement.sentence_findings(
        signed_expectations(ctx.definition),
        box,
        work,
        ctx.workdir,
        sandbox,
        before=given,
        command_s=ctx.definition.get("command_s", environment.COMMAND_S),
        tests=signed_tests(ctx.definition, root),
        calls=calls,
    )
    unmet = [finding.text for finding in found if finding.met is False]
    tests = verification.as_result(verified) if verified else NO_TESTS
    findings = ctx.workdir / "findings.json"
    write_json(findings, to_json(found))
    write_text(log, verified.output if verified else "")
    folder, places = inside(work, box.workdir), _withheld(ctx.definition, root, task)
    fabrications = _fabrications(ctx.definition, folder, given, calls, places)
    counted = fabrications if fabrication_fails(ctx.definition) else []
    passed = is_rewarded(ctx.definition, tests) and not unmet and not counted
    result = {**tests, "passed": passed, "unmet": unmet, "fabrications": to_json(fabrications)}
    return StepResult(result, {"findings": findings, "log": log})


def fabrication_fails(definition: Definition) -> bool:
    """Return whether a sign of a fabricated result fails an attempt; without that signed it is evidence alone."""
    return bool(definition.get("fabrication") == "fails")


def _fabrications(
    definition: Definition,
    folder: Path,
    given: Mapping[str, str],
    calls: Sequence[RecordedCall],
    withheld: Mapping[str, Path],
) -> list[Fabrication]:
    """Signs of fabricated results in a frozen work folder, which is made if nobody did."""
    folder.mkdir(parents=True, exist_ok=True)
    text = f"{definition.get('context', '')}\n{definition['instruction']}"
    expectations = signed_expectations(definition)
    return fabrication.find(fabrication.Attempt(folder, given, expectations, text, calls or None, withheld))


def _withheld(definition: Definition, root: Path, task: HarborTask | None) -> dict[str, Path]:
    """Places inside that a worker is not to see -> the folders that would be there."""
    if task is None:
        tests = signed_tests(definition, root)
        return {f"/{scifi_markdown.TESTS}": tests} if tests else {}
    folders = {f"/{name}": task.folder / name for name in (harbor_folder.TESTS, harbor_folder.SOLUTION)}
    return {place: folder for place, folder in folders.items() if folder.is_dir()}


def is_rewarded(definition: Definition, tests: Mapping[str, Any]) -> bool:
    """Return whether the tests, if there are any, ran to their end and gave the reward that was signed for."""
    if "folder" not in definition:
        return True
    value = tests["rewards"].get(definition.get("pass_key", "reward"))
    return not tests["limit"] and value is not None and value >= definition.get("pass_reward", 1)


def _unpacked(archive: Path | None, folder: Path) -> Path:
    """The frozen tree of an attempt; an empty one if it left none."""
    if folder.exists():
        shutil.rmtree(folder)
    if archive is not None and archive.stat().st_size:
        folder_tree.unpack(archive, folder, MOST_WORK_BYTES)
    else:
        folder.mkdir(parents=True)
    return folder


def _verified(task: HarborTask | None, box: Box, work: Path, scratch: Path, sandbox: SandboxBackend) -> Verified | None:
    if task is None:
        return None
    return verification.verify(task, box, work, scratch / "verify", sandbox, fresh=box.tree)


def conclude(ctx: StepContext) -> StepResult:
    """What an attempt comes to, and whether another follows; programs decide, the worker's word passes nothing.

    A worker that says that the task cannot be done ends it, not met. What the next attempt hears of a failed check is
    its name, unless its output was signed for.
    """
    stage = ctx.stage.removeprefix(f"{CONCLUDE}_")
    (worked,), (assessed,) = ctx.upstream[rule_of(WORK, stage)], ctx.upstream[rule_of(ASSESS, stage)]
    reviews = ctx.upstream.get(rule_of(REVIEW, stage), [])
    objections = [said for one in reviews for said in _objections(ctx.definition, one)]
    judged = bool(judged_sentences(ctx.definition))
    met = assessed.failed is None and assessed.result["passed"] and not objections and bool(reviews) == judged
    said = worked.result.get("status", worked.failed or "")
    attempt = Attempt(
        attempt=int(ctx.wildcards["round"]),
        status=said,
        summary=worked.result.get("reason") or worked.result.get("summary", ""),
        met=met,
        failed=tuple(failed_checks(assessed, ctx.definition)),
        objections=tuple(objections),
        output=_output(assessed) if ctx.definition.get("feedback") == "output" and not met else "",
    )
    before = [one for step in ctx.previous.get(rule_of(CONCLUDE, stage), []) for one in history(step.files["history"])]
    write_json(path := ctx.workdir / "history.json", to_json([*before, attempt]))
    ended = said == IMPOSSIBLE or attempt.attempt >= ctx.definition["attempts"]
    return StepResult({"met": met, "done": met or ended, "failed": [*attempt.failed, *objections]}, {"history": path})


def history(path: Path) -> list[Attempt]:
    """Return the attempts so far, in their order."""
    return [from_json(Attempt, one) for one in load_json(path)]


def failed_checks(assessed: UpstreamStep, definition: Definition) -> Iterator[str]:
    """Yield the names of the checks that an attempt did not pass: sentences, tests, signs of fabrication."""
    if assessed.failed is not None:
        yield f"the work could not be assessed: {assessed.failed}"
        return
    result = assessed.result
    if "folder" in definition and not is_rewarded(definition, result):
        names = FAILED_TEST.findall(read_text(assessed.files["log"]))
        yield f"{TESTS}: {', '.join(dict.fromkeys(names))}" if names else TESTS
    yield from result["unmet"]
    if fabrication_fails(definition):
        yield from (str(from_json(Fabrication, one)) for one in result["fabrications"])


def _objections(definition: Definition, review: UpstreamStep) -> Iterable[str]:
    """Sentences that the reviewer does not find met, with its reason; all of them if there is no answer."""
    sentences = judged_sentences(definition)
    if review.failed is not None:
        return [f"{text} (the reviewer gave no answer: {review.failed})" for text in sentences]
    found = {one["sentence"]: one for one in review.result["judgements"]}
    return [
        f"{text} ({found[number]['reason'] if number in found else 'the reviewer did not judge it'})"
        for number, text in enumerate(sentences, 1)
        if number not in found or not found[number]["met"]
    ]


def _output(assessed: UpstreamStep) -> str:
    return read_text(assessed.files["log"])[-MOST_OUTPUT:] if assessed.failed is None else ""


def task(ctx: StepContext) -> StepResult:
    """How a task ends: as its last attempt did, if everything that was signed is still what it was."""
    concluded = ctx.upstream[rule_of(CONCLUDE, ctx.stage)][-1]
    worked, assessed = (ctx.upstream[rule_of(step, ctx.stage)][-1] for step in (WORK, ASSESS))
    tests = assessed.result if assessed.failed is None else {**NO_TESTS, "fault": assessed.failed, "unmet": []}
    unchanged = _is_as_signed(ctx)
    last = history(concluded.files["history"])[-1]
    tree = ctx.workdir / FILES[TREE]
    shutil.copyfile(worked.files[TREE], tree)
    reason = "" if last.met else last.summary if last.status == IMPOSSIBLE else "; ".join(_reasons(last))
    result = {
        "met": concluded.result["met"] and unchanged,
        "reason": reason if unchanged else "text, tests or files are not those that were signed",
        "reward": tests["reward"],
        "rewards": tests["rewards"],
        "unmet": len(tests["unmet"]),
        "judged": len(judged_sentences(ctx.definition)),
        "attempts": last.attempt,
        "fabrications": len(tests.get("fabrications", ())),
        "evidence": [str(from_json(Fabrication, one)) for one in tests.get("fabrications", ())],
        "tests_unchanged": unchanged,
        "stubs": tests["stubs"],
        "fault": tests["fault"],
    }
    return StepResult(result, {TREE: tree, "history": concluded.files["history"]})


def _reasons(last: Attempt) -> Sequence[str]:
    early = [] if last.status == DONE else [last.status]
    return [*early, *last.failed, *last.objections]


def _is_as_signed(ctx: StepContext) -> bool:
    root = campaign_above(ctx.workdir)
    try:
        signed_inputs(ctx.definition, root)
        signed_tests(ctx.definition, root)
        if "folder" in ctx.definition:
            signed_folder(ctx.definition, root)
    except UserError:
        return False
    return True
