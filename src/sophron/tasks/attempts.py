"""One attempt at a task, in steps that each leave a file: environment, work, verification.

The environment is rebuilt once a task and never changed; each attempt works on a copy of its tree. What is refused, or
cannot be installed, is a record too, so that one task does not end a collection.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from sophron.interfaces.sandbox import SandboxBackend
from sophron.records.digests import digest
from sophron.records.errors import UserError
from sophron.records.files import read_text, write_json
from sophron.records.typed_json import load, to_json
from sophron.tasks import (
    dockerfile,
    environment,
    folder_tree,
    grading_stubs,
    harbor_folder,
    python_environment,
    verification,
)
from sophron.tasks.dockerfile import Copy, Recipe
from sophron.tasks.environment import Box, Python
from sophron.tasks.harbor_folder import DOCKERFILE, ENVIRONMENT, SOLUTION_SCRIPT, TEST_SCRIPT, HarborTask
from sophron.tasks.run_instruction import of_debian

Agent = Literal["oracle", "nop", "given"]
GIVEN: Agent = "given"
"""Whoever did the work of a folder that is handed in; `oracle` and `nop`, the task's own solution and nobody, are
Harbor's names."""
WORK, TESTS, ORACLE, ORACLE_TESTS = "work", "tests", "oracle", "oracle_tests"
"""What an environment is for. In one container, tests would find what the solution installed before them."""
ENVIRONMENT_RECORD, TREE, WORK_RECORD, ARCHIVE, RESULT = (
    "environment.json", "tree", "work.json", "work.tar", "result.json"
)  # fmt: skip
DEFAULT_WORK_S = 3600.0
"""Seconds of work if the task names none: Harbor would not end it."""
MOST_WORK_BYTES = 2_000_000_000


@dataclass(frozen=True)
class RebuiltEnvironment:
    """What stands in for a task's container.

    digest: of all files of the task; refused: a sentence, empty if it was rebuilt; python: version; prefixes, packages:
    of `work`, `oracle` and `tests`, the folder and what pip resolved; notes: what is left out or other than written.
    """

    task: str
    digest: str
    refused: str = ""
    python: str = ""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorkRecord:
    """How an agent's work ended. files: path in the frozen tree -> hex sha256; left_out: links, devices and sockets."""

    agent: Agent
    exit_code: int | None
    limit: str
    wall_time_s: float
    stubs: tuple[str, ...]
    files: Mapping[str, str]
    left_out: tuple[str, ...]


def task_digest(task: HarborTask) -> str:
    """Return what a task is: the digest of the digests of its files."""
    return digest(dict(task.files))


def rebuild(folder: Path, place: Path, store: Path, sandbox: SandboxBackend, python: str = "") -> RebuiltEnvironment:
    """Rebuild the environment of the task in `folder` below `place`, and record it there; a refusal is a record.

    store: virtual environments, shared by tasks; python: a version to take in place of that of the base image.
    """
    task = harbor_folder.read(folder)
    try:
        made = _rebuilt(task, place, store, sandbox, python)
    except UserError as refusal:
        made = RebuiltEnvironment(task.name, task_digest(task), refused=str(refusal))
    write_json(place / ENVIRONMENT_RECORD, to_json(made))
    return made


def _rebuilt(task: HarborTask, place: Path, store: Path, sandbox: SandboxBackend, python: str) -> RebuiltEnvironment:
    recipe = read_recipe(task)
    if missing := environment.missing_packages(recipe):
        raise UserError(
            f"{task.folder / ENVIRONMENT / DOCKERFILE}: wants the Debian packages {', '.join(missing)}, which are not "
            "on this machine; install them"
        )
    version, prefixes, packages = python or recipe.python, {}, {}
    shutil.rmtree(place / "context", ignore_errors=True)
    own = _requirements(task, recipe, place / "context")
    for use, more in _needs(task).items():
        made, resolved = python_environment.make(version, [*own, *more], store, task.build_timeout_s)
        prefixes[use], packages[use] = str(made.prefix), resolved.packages
    notes = [*recipe.notes, *task.warnings]
    if version != recipe.python:
        notes.append(f"Python {version} in place of {recipe.python}, by choice")
    box = _box(task, recipe, prefixes[WORK], place / TREE)
    environment.build_tree(box, task, sandbox, place / "build.log")
    return RebuiltEnvironment(task.name, task_digest(task), "", version, prefixes, packages, tuple(notes))


def read_recipe(task: HarborTask) -> Recipe:
    """Return the recipe of a task's Dockerfile; UserError for the first instruction that cannot be rebuilt."""
    return dockerfile.read(task.folder / ENVIRONMENT / DOCKERFILE)


def _needs(task: HarborTask) -> dict[str, Sequence[str]]:
    """Requirements beside those of the Dockerfile: what scripts would let pip or uv install while they run."""
    solution = grading_stubs.requirements(read_text(task.folder / SOLUTION_SCRIPT)) if task.has_solution else ()
    tests = grading_stubs.requirements(read_text(task.folder / TEST_SCRIPT))
    shared = {ORACLE_TESTS: (*solution, *tests)} if solution and not task.separate else {}
    return {WORK: (), ORACLE: solution, TESTS: tests, **shared}


def _requirements(task: HarborTask, recipe: Recipe, scratch: Path) -> list[str]:
    """What pip is to install, the files of the container looked up where COPY takes them from."""
    found: list[str] = []
    for call in recipe.requirements:
        for name in call.files:
            path = _copied(name, task, recipe, scratch)
            found += python_environment.of_file(path)
        found += call.names
    return found


def _copied(name: str, task: HarborTask, recipe: Recipe, scratch: Path) -> Path:
    if not scratch.exists():
        environment.copy_files([step for step in recipe.steps if isinstance(step, Copy)], task, scratch)
    path = scratch.joinpath(*PurePosixPath(name).parts[1:])
    if not path.is_file():
        raise UserError(f"{task.folder / ENVIRONMENT / DOCKERFILE}: pip reads {name}, which no COPY line puts there")
    return path


def _box(task: HarborTask, recipe: Recipe, prefix: str, tree: Path) -> Box:
    threads = {"OMP_NUM_THREADS": str(max(round(task.cpus or 1), 1))}
    return Box(
        tree,
        Python(Path(prefix)),
        recipe,
        environment.workdir_of(task, recipe),
        env={**threads, **task.env},
        memory_mb=task.memory_mb or environment.DEFAULT_MEMORY_MB,
    )


def _same_task(folder: Path, made: RebuiltEnvironment) -> HarborTask:
    task = harbor_folder.read(folder)
    if task_digest(task) != made.digest:
        raise UserError(f"{folder}: was changed since its environment was rebuilt; run the task again")
    return task


def work(folder: Path, place: Path, attempt: Path, agent: Agent, sandbox: SandboxBackend) -> WorkRecord:
    """Let an agent work on a copy of the tree, freeze what it left, and record it in `attempt`.

    place: of the environment. UserError if the task was changed, or has no solution for the oracle.
    """
    made, scratch = load(place / ENVIRONMENT_RECORD, RebuiltEnvironment), _emptied(attempt / "scratch")
    done = verification.IDLE
    if not made.refused:
        task = _same_task(folder, made)
        shutil.copytree(place / TREE, scratch / TREE, symlinks=True)
        if agent == "oracle":
            box = _box(task, read_recipe(task), made.prefixes[ORACLE], scratch / TREE)
            done = verification.solve(task, box, scratch, sandbox, task.work.timeout_s or DEFAULT_WORK_S)
            shutil.copyfile(scratch / verification.ORACLE_LOG, attempt / verification.ORACLE_LOG)
    return _frozen(scratch, attempt, agent, done)


def hand_in(folder: Path, place: Path, attempt: Path, given: Path) -> WorkRecord:
    """Freeze the folder `given` as what an agent left in the working directory, and record it in `attempt`.

    UserError if there is no such folder, or the task was changed or refused.
    """
    made, scratch = load(place / ENVIRONMENT_RECORD, RebuiltEnvironment), _emptied(attempt / "scratch")
    if made.refused:
        raise UserError(made.refused)
    if not given.is_dir():
        raise UserError(f"{given}: there is no such folder; name the one that holds the work")
    task = _same_task(folder, made)
    workdir = environment.workdir_of(task, read_recipe(task))
    shutil.copytree(place / TREE, scratch / TREE, symlinks=True)
    target = scratch.joinpath(TREE, *PurePosixPath(workdir).parts[1:])
    shutil.rmtree(target)
    left_out = folder_tree.freeze(given, target)
    return _frozen(scratch, attempt, GIVEN, verification.IDLE, left_out)


def _emptied(scratch: Path) -> Path:
    if scratch.exists():
        shutil.rmtree(scratch)
    (scratch / TREE).parent.mkdir(parents=True)
    return scratch


def _frozen(
    scratch: Path, attempt: Path, agent: Agent, done: verification.Done, before: Sequence[str] = ()
) -> WorkRecord:
    """Freeze the tree in `scratch`, if there is one, and record it in `attempt`. before: what was left out already."""
    frozen = scratch / "frozen"
    left_out = [*before, *folder_tree.freeze(scratch / TREE, frozen)]
    folder_tree.pack(frozen, attempt / ARCHIVE)
    files = folder_tree.digests(frozen)
    limit = done.limit or ""
    record = WorkRecord(agent, done.exit_code, limit, done.wall_time_s, done.stubs, files, tuple(left_out))
    shutil.rmtree(scratch)
    write_json(attempt / WORK_RECORD, to_json(record))
    return record


def judge(folder: Path, place: Path, attempt: Path, sandbox: SandboxBackend) -> Mapping[str, Any]:
    """Verify what an attempt left, in its own sandbox, and record the result in `attempt`; UserError as of `verify`."""
    made = load(place / ENVIRONMENT_RECORD, RebuiltEnvironment)
    worked = load(attempt / WORK_RECORD, WorkRecord)
    result: dict[str, Any] = {"task": made.task, "agent": worked.agent, "refused": made.refused, "passed": False}
    if not made.refused:
        task, scratch = _same_task(folder, made), attempt / "scratch"
        if scratch.exists():
            shutil.rmtree(scratch)
        folder_tree.unpack(attempt / ARCHIVE, scratch / WORK, MOST_WORK_BYTES)
        if changed := sorted(_differing(worked.files, folder_tree.digests(scratch / WORK))):
            raise UserError(f"{attempt / ARCHIVE}: {changed[0]} is not what was frozen; let the attempt run again")
        use = ORACLE_TESTS if worked.agent == ORACLE and ORACLE_TESTS in made.prefixes else TESTS
        box = _box(task, read_recipe(task), made.prefixes[use], scratch / "none")
        verified = verification.verify(
            task, box, scratch / WORK, scratch / "verify", sandbox, fresh=place / TREE
        )  # fmt: skip
        folder_tree.freeze(verification.log_folder(scratch / "verify"), attempt / verification.VERIFIER)
        shutil.copyfile(scratch / "verify" / verification.TEST_LOG, attempt / verification.TEST_LOG)
        result |= verification.as_result(verified)
        if worked.agent == ORACLE and not verified.passed:
            result["fault"] = verified.reward.fault or _missing_of_solution(task)
        result["work_wall_time_s"], result["work_stubs"] = worked.wall_time_s, list(worked.stubs)
        shutil.rmtree(scratch)
    write_json(attempt / RESULT, result)
    return result


def _missing_of_solution(task: HarborTask) -> str:
    """Why a solution cannot have worked here, as far as one sees it; empty otherwise."""
    wanted = of_debian(grading_stubs.packages(read_text(task.folder / SOLUTION_SCRIPT))).names
    missing = environment.not_installed(wanted)
    return (
        f"its solution wants the Debian packages {', '.join(missing)}, which are not on this machine" if missing else ""
    )


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    return (name for name in {*before, *after} if before.get(name) != after.get(name))
