"""Parts of the kind task, as far as they are written: how programs assess one attempt."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sophron.interfaces.kind import Definition, StepContext, StepResult, UpstreamStep
from sophron.interfaces.sandbox import SandboxBackend
from sophron.kinds.task.kind import ASSESS, WORK, rule_of
from sophron.records.digests import digest
from sophron.records.errors import UserError
from sophron.records.files import write_json, write_text
from sophron.records.typed_json import from_json, to_json
from sophron.sandbox import select_backend
from sophron.tasks import dockerfile, environment, folder_tree, harbor_folder, judgement, verification
from sophron.tasks.attempts import MOST_WORK_BYTES
from sophron.tasks.environment import Box, Python
from sophron.tasks.expectation_checks import Finding
from sophron.tasks.expectations import Expectation
from sophron.tasks.harbor_folder import HarborTask
from sophron.tasks.verification import Verified

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


def box_of(task: HarborTask | None, tree: Path, prefix: Path | None = None) -> Box:
    """Return the box of a task around a tree. task: None for one in Markdown; prefix: of its Python."""
    if task is None:
        return judgement.markdown_box(tree)
    python = Python(prefix or Path(sys.prefix))
    recipe = dockerfile.read(task.folder / harbor_folder.ENVIRONMENT / harbor_folder.DOCKERFILE)
    memory_mb = task.memory_mb or environment.DEFAULT_MEMORY_MB
    return Box(tree, python, recipe, environment.workdir_of(task, recipe), env=task.env, memory_mb=memory_mb)


def signed_expectations(definition: Definition) -> tuple[Expectation, ...]:
    """Return the sentences of a definition with the checks that were signed for each."""
    return tuple(
        from_json(Expectation, {"line": 0, "checks": [], **about}) for about in definition.get("expectations", ())
    )


def assess(ctx: StepContext) -> StepResult:
    """What programs find of one attempt: the tests in their own sandbox, and the checks of each sentence.

    An attempt that left no work is assessed on an empty tree: it fails by its tests, and for no other reason.
    """
    (worked,) = ctx.upstream[rule_of(WORK, ctx.stage.removeprefix(f"{ASSESS}_"))]
    task = signed_folder(ctx.definition, Path.cwd()) if "folder" in ctx.definition else None
    sandbox, log = select_backend.choose(), ctx.workdir / "test-stdout.txt"
    box = replace(box_of(task, ctx.workdir / "fresh"), memory_mb=ctx.memory_mb)
    if task is not None:
        environment.build_tree(box, task, sandbox, ctx.workdir / "build.log")
    work = _unpacked(worked, ctx.workdir / "work")
    verified = _verified(task, box, work, ctx.workdir, sandbox)
    found = _findings(ctx, box, work, sandbox)
    unmet = [finding.text for finding in found if finding.met is False]
    tests = verification.as_result(verified) if verified else NO_TESTS
    findings = ctx.workdir / "findings.json"
    write_json(findings, to_json(found))
    write_text(log, verified.output if verified else "")
    return StepResult(
        {**tests, "passed": tests["passed"] and not unmet, "unmet": unmet}, {"findings": findings, "log": log}
    )


def _unpacked(worked: UpstreamStep, folder: Path) -> Path:
    """The frozen tree of an attempt; an empty one if it left none."""
    if folder.exists():
        shutil.rmtree(folder)
    archive = worked.files.get("tree")
    if worked.failed is None and archive is not None and archive.stat().st_size:
        folder_tree.unpack(archive, folder, MOST_WORK_BYTES)
    else:
        folder.mkdir(parents=True)
    return folder


def _verified(task: HarborTask | None, box: Box, work: Path, scratch: Path, sandbox: SandboxBackend) -> Verified | None:
    if task is None:
        return None
    return verification.verify(task, box, work, scratch / "verify", sandbox, fresh=box.tree)


def _findings(ctx: StepContext, box: Box, work: Path, sandbox: SandboxBackend) -> list[Finding]:
    about = ctx.definition
    return judgement.sentence_findings(
        signed_expectations(about),
        box,
        work,
        ctx.workdir,
        sandbox,
        before=about.get("inputs", {}),
        command_s=about.get("command_s", environment.COMMAND_S),
    )
