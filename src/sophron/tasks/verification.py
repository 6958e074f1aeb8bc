"""Verify a frozen piece of work by the tests of its task, in a second sandbox that the agent never sees.

The tests are copied from the task folder with the digests that were signed, and mounted read-only; the folder for the
reward is new and empty; of the work only regular files cross. The exit code of the tests says nothing, their reward
does; without a reward there is no verdict, and a task without a verdict has not passed.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from sophron.interfaces.sandbox import SandboxBackend
from sophron.records.digests import file_digest
from sophron.records.errors import UserError
from sophron.tasks import environment, folder_tree, grading_stubs, reward
from sophron.tasks.environment import LOGS, Box
from sophron.tasks.harbor_folder import SOLUTION, SOLUTION_SCRIPT, TEST_SCRIPT, TESTS, HarborTask
from sophron.tasks.reward import Reward

VERIFIER, ARTIFACTS, AGENT = "verifier", "artifacts", "agent"
STUB_CALLS = "stub_calls"
ORACLE_LOG, TEST_LOG = "oracle.txt", "test-stdout.txt"


@dataclass(frozen=True)
class Done:
    """How a solution ended. exit_code: None if nothing ran; stubs: calls of programs that were not the real ones."""

    exit_code: int | None
    limit: str | None
    wall_time_s: float
    stubs: tuple[str, ...] = ()


IDLE = Done(None, None, 0.0)
"""Nobody worked."""


@dataclass(frozen=True)
class Verified:
    """What the tests of a task said of one piece of work.

    reward: with every key; exit_code: negative for a signal; limit: of the sandbox, if one ended it; stubs: calls of
    programs that were not the real ones; left_out: paths of the work that did not cross.
    """

    reward: Reward
    exit_code: int
    limit: str | None
    wall_time_s: float
    stubs: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    output: str = field(default="", compare=False)

    @property
    def passed(self) -> bool:
        """Return whether the tests ran to their end and gave the full reward."""
        return self.limit is None and self.reward.passed


def verify(
    task: HarborTask, box: Box, work: Path, folder: Path, sandbox: SandboxBackend, *, fresh: Path | None = None
) -> Verified:
    """Run the tests of `task` on the frozen tree `work`. folder: scratch of this verification alone, which it replaces.

    fresh: the tree before the work, into which artifacts are put if the tests are to see no more of the work than
    these. box: interpreter, recipe and limits; its tree is not used. UserError if the tests are not those that were
    read, or no sandbox can be made; whatever the tests do is a result.
    """
    if folder.exists():
        shutil.rmtree(folder)
    tree = folder / "tree"
    left_out = _crossed(task, box, work, tree, fresh)
    tree.joinpath(*PurePosixPath(box.workdir).parts[1:]).mkdir(parents=True, exist_ok=True)
    for name in (VERIFIER, ARTIFACTS, AGENT):
        (tree / LOGS / name).mkdir(parents=True)
    tests = _signed(task, TESTS, folder / TESTS)
    grading_stubs.write(folder / "stubs", tree / environment.HOME)
    told = {grading_stubs.CALLS: f"/{LOGS}/{STUB_CALLS}", "TEST_DIR": f"/{TESTS}"}
    own = replace(
        box,
        tree=tree,
        env={**box.env, **task.env, **task.tests.env, **told},
        read_only={f"/{TESTS}": tests},
        stubs=folder / "stubs",
        network=False,
        wall_s=task.tests.timeout_s,
    )
    log, begun = folder / TEST_LOG, time.monotonic()
    ended = own.run(_script(TEST_SCRIPT), sandbox, log)
    return Verified(
        reward.read(tree / LOGS / VERIFIER) if ended.limit is None else Reward(fault=f"the tests passed {ended.limit}"),
        ended.returncode,
        ended.limit,
        time.monotonic() - begun,
        grading_stubs.calls(tree / LOGS / STUB_CALLS),
        tuple(left_out),
        environment.tail(log),
    )


def log_folder(folder: Path) -> Path:
    """Return what tests left in /logs/verifier, of a verification in `folder`."""
    return folder / "tree" / LOGS / VERIFIER


def solve(task: HarborTask, box: Box, folder: Path, sandbox: SandboxBackend, timeout_s: float) -> Done:
    """Let the task's own solution work in `box.tree`: the oracle, which tests the machinery and no agent.

    Programs that would fetch something are stand-ins, as they are for tests. How it ended does not count; the tests
    judge. UserError if the folder has none, or no sandbox can be made.
    """
    if not task.has_solution:
        raise UserError(
            f"{task.folder / SOLUTION_SCRIPT}: there is no such file, so that no oracle can run; ask a model"
        )
    solution = folder / SOLUTION
    if solution.exists():
        shutil.rmtree(solution)
    _signed(task, SOLUTION, solution)
    grading_stubs.write(folder / "stubs", box.tree / environment.HOME)
    env = {**box.env, **task.env, "DEBIAN_FRONTEND": "noninteractive", **task.solution_env}
    env[grading_stubs.CALLS] = f"/{environment.HOME}/{STUB_CALLS}"
    own = replace(
        box, env=env, read_only={f"/{SOLUTION}": solution}, stubs=folder / "stubs", wall_s=timeout_s, network=False
    )
    begun = time.monotonic()
    ended = own.run(_script(SOLUTION_SCRIPT), sandbox, folder / ORACLE_LOG)
    record = box.tree / environment.HOME / STUB_CALLS
    stubs = grading_stubs.calls(record)
    record.unlink(missing_ok=True)
    return Done(ended.returncode, ended.limit, time.monotonic() - begun, stubs)


def _crossed(task: HarborTask, box: Box, work: Path, tree: Path, fresh: Path | None) -> list[str]:
    """Copy what the tests may see of the work: declared artifacts, or all of it. What did not cross."""
    left_out: list[str] = []
    if not task.separate:
        tree.mkdir(parents=True)
        for top in sorted(work.iterdir()):
            if top.name in box.tops and top.is_dir() and not top.is_symlink():
                left_out += [f"{top.name}/{name}" for name in folder_tree.freeze(top, tree / top.name)]
            else:
                left_out.append(top.name)
        return left_out
    tree.mkdir(parents=True)
    if fresh is not None:
        folder_tree.freeze(fresh, tree)
    for artifact in task.artifacts:
        parts = PurePosixPath(artifact.source).parts[1:]
        source, target = work.joinpath(*parts), tree.joinpath(*parts)
        if source.is_dir() and not source.is_symlink():
            left_out += [f"{artifact.source}/{name}" for name in folder_tree.freeze(source, target)]
        elif source.is_file() and not source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
        else:
            left_out.append(artifact.source)
    return left_out


def _script(name: str) -> list[str]:
    """A script as Harbor starts it: by bash, which takes one without a first line of its own as its own."""
    return ["/bin/bash", "-c", f"/{name} 2>&1"]


def _signed(task: HarborTask, top: str, target: Path) -> Path:
    """Copy `tests/` or `solution/` as it was when the task was read; UserError if a file is another one by now."""
    for name, digest in task.files.items():
        if not name.startswith(f"{top}/"):
            continue
        source, place = task.folder / name, target / name.removeprefix(f"{top}/")
        if not source.is_file() or file_digest(source) != digest:
            raise UserError(f"{source}: is not the file that was signed; restore it, or amend the task")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
        place.chmod(0o755 if place.suffix == ".sh" else 0o644)
    return target


def as_result(verified: Verified) -> Mapping[str, object]:
    """Return plain data that fits the result of `task/verify.schema.yaml`."""
    return {
        "passed": verified.passed,
        "reward": verified.reward.values.get(reward.KEY),
        "rewards": dict(verified.reward.values),
        "fault": verified.reward.fault,
        "exit_code": verified.exit_code,
        "limit": verified.limit or "",
        "wall_time_s": verified.wall_time_s,
        "stubs": list(verified.stubs),
        "left_out": list(verified.left_out),
    }
