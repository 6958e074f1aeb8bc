"""Stages and parts of the kind task, as far as they are written: how one attempt is assessed by programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from sophron.interfaces.kind import Definition
from sophron.interfaces.sandbox import SandboxBackend
from sophron.records.digests import digest
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json
from sophron.tasks import dockerfile, environment, harbor_folder
from sophron.tasks.environment import Box, Python
from sophron.tasks.expectation_checks import Finding, Work, find
from sophron.tasks.expectations import Expectation
from sophron.tasks.harbor_folder import HarborTask


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


def box_of(task: HarborTask, tree: Path, prefix: Path | None = None) -> Box:
    """Return the box of a task around a tree. prefix: virtual environment of its interpreter, else this one."""
    recipe = dockerfile.read(task.folder / harbor_folder.ENVIRONMENT / harbor_folder.DOCKERFILE)
    return Box(
        tree,
        Python(prefix or Path(sys.prefix)),
        recipe,
        environment.workdir_of(task, recipe),
        env=task.env,
        memory_mb=task.memory_mb or environment.DEFAULT_MEMORY_MB,
    )


def signed_expectations(definition: Definition) -> tuple[Expectation, ...]:
    """Return the sentences of a definition with the checks that were signed for each."""
    return tuple(
        from_json(Expectation, {"line": 0, "checks": [], **about}) for about in definition.get("expectations", ())
    )


def findings(
    expected: Iterable[Expectation], folder: Path, before: Mapping[str, str], box: Box, sandbox: SandboxBackend
) -> list[Finding]:
    """Carry out the checks of all sentences on a frozen work folder; commands run in the task's own sandbox."""

    def run(line: str) -> tuple[int, str]:
        log = box.tree.parent / "command.log"
        ended = box.run(["/bin/bash", "-c", line], sandbox, log)
        return ended.returncode, environment.tail(log)

    work = Work(folder, before, run)
    return [find(one, work) for one in expected]
