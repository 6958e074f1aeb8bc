"""A task's environment without a container: a tree of folders, an interpreter, and the sandbox around them.

The tree mirrors the container's own folders (`app/`, `root/`, ...); inside they are bound at `/app`, `/root`, ... and
nothing else can be written.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from sophron.interfaces.sandbox import Ended, Grant, SandboxBackend
from sophron.records.errors import UserError, shown
from sophron.records.files import write_text
from sophron.records.sanitize import lines
from sophron.tasks.dockerfile import Command, Copy, Recipe
from sophron.tasks.harbor_folder import ENVIRONMENT, HarborTask

HOME, LOGS = "root", "logs"
"""Top folders inside: the home of every container, where tasks keep files, and the place of rewards."""
DEFAULT_MEMORY_MB, MOST_PROCESSES, DISK_MB = 2000, 256, 10_000
COMMAND_S = 600.0
"""Seconds of a command that an expectation runs, if the task says nothing else."""
SYSTEM_FILES = (Path("/etc/ssl/openssl.cnf"), Path("/etc/R"), Path("/etc/fonts"))
"""What programs of /usr look up and every container has: openssl makes no certificate without it, R does not start."""
HARNESS = Path(__file__).parents[1]
"""This package, which may be installed beside what the task needs: tests of the shipped tasks are in it."""
TAIL = 4000
"""Characters that are kept of what a program wrote."""


@dataclass(frozen=True)
class Python:
    """An interpreter. prefix: its virtual environment."""

    prefix: Path

    @property
    def folders(self) -> list[Path]:
        """Return what a sandbox has to show of it: the environment, and the installation that it was made from."""
        base = self._base()
        return [self.prefix] if base == Path("/usr") else [self.prefix, base]

    def _base(self) -> Path:
        """The installation, resolved: `home` of pyvenv.cfg may itself be an environment's."""
        program = (self.prefix / "bin" / "python3").resolve()
        return program.parent.parent


@dataclass(frozen=True)
class Box:
    """A tree with all that programs in it get.

    tree: folder whose subfolders are top folders inside; env: beside that of the recipe; read_only: place inside ->
    folder; memory_mb, wall_s: limits.
    """

    tree: Path
    python: Python
    recipe: Recipe
    workdir: str
    env: Mapping[str, str] = field(default_factory=dict)
    read_only: Mapping[str, Path] = field(default_factory=dict)
    stubs: Path | None = None
    memory_mb: int = DEFAULT_MEMORY_MB
    wall_s: float | None = None
    network: bool = False

    @property
    def tops(self) -> tuple[str, ...]:
        """Return the top folders inside that are the task's, sorted."""
        return tuple(sorted({*self.recipe.folders, HOME, PurePosixPath(self.workdir).parts[1]}))

    def grant(self) -> Grant:
        """Return the grant: the tree is writable at its places, everything else read-only, nothing more is there."""
        own = [self.tree / name for name in (*self.tops, LOGS)]
        places = {f"/{top.name}": top for top in own if top.is_dir() and not top.is_symlink()}
        first = [str(self.stubs)] if self.stubs else []
        system = [path for path in SYSTEM_FILES if path.exists()]
        accounts = self._accounts()
        # The task's own folders come last: what an agent leaves there must not stand in for a program of a test.
        path = ":".join([*first, str(self.python.prefix / "bin"), "/usr/bin:/bin", *_own_path(self.recipe)])
        plain = {"HOME": f"/{HOME}", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}
        plain["PIP_NO_INDEX"] = "1"  # an installation of what is there succeeds, another fails at once
        return Grant(
            self.tree,
            read_only=[
                *self.python.folders,
                *self.read_only.values(),
                *([self.stubs] if self.stubs else []),
                *system,
                *accounts.values(),
            ],
            env={**plain, **self.recipe.env, **self.env, "PATH": path},
            network=self.network,
            memory_mb=self.memory_mb,
            wall_s=self.wall_s,
            processes=MOST_PROCESSES,
            disk_mb=DISK_MB,
            places={**places, **self.read_only, **accounts},
            start=self.workdir,
            hidden=[HARNESS],
        )

    def _accounts(self) -> dict[str, Path]:
        """Return place -> file of the accounts and hosts that a container has: ssh-keygen wants a name for its user."""
        user, group = os.getuid(), os.getgid()
        texts = {"passwd": f"root:x:{user}:{group}:root:/{HOME}:/bin/bash\n", "group": f"root:x:{group}:\n"}
        if not self.network:  # a network brings this machine's own
            texts |= {"hosts": "127.0.0.1 localhost\n::1 localhost\n", "nsswitch.conf": "hosts: files\n"}
        folder = self.tree.with_name(f"{self.tree.name}.etc")
        for name, text in texts.items():
            if not (folder / name).is_file():
                write_text(folder / name, text)
        return {f"/etc/{name}": folder / name for name in texts}

    def run(self, command: Sequence[str], sandbox: SandboxBackend, log: Path) -> Ended:
        """Run a program in it; its output goes to `log`. UserError if no sandbox can be made."""
        return sandbox.run(command, self.grant(), stdout=log, stderr=log.with_name(f"{log.name}.stderr"))


def _own_path(recipe: Recipe) -> list[str]:
    """Folders of PATH that lie in the task's own tree."""
    own = {"", *recipe.folders, HOME}
    return [
        path for path in recipe.env.get("PATH", "").split(":") if path.startswith("/") and path.split("/")[1] in own
    ]


def workdir_of(task: HarborTask, recipe: Recipe) -> str:
    """Return where every command begins."""
    return task.workdir or (recipe.workdir if recipe.workdir != "/" else f"/{HOME}")


def missing_packages(recipe: Recipe) -> list[str]:
    """Return the Debian packages that are not installed on this machine; all of them if it is not a Debian."""
    return not_installed(recipe.packages)


def not_installed(packages: Sequence[str]) -> list[str]:
    """Return those of some Debian packages that are not on this machine; all of them if it is not a Debian."""
    if not packages or shutil.which("dpkg-query") is None:
        return [*packages]
    form = "${Package} ${db:Status-Abbrev}\n"
    ran = subprocess.run(["dpkg-query", "-W", "-f", form, "--", *packages], check=False, capture_output=True, text=True)
    there = {line.split()[0] for line in ran.stdout.splitlines() if line.split()[1:2] == ["ii"]}
    return [name for name in packages if name not in there]


def build_tree(box: Box, task: HarborTask, sandbox: SandboxBackend, log: Path) -> None:
    """Make the tree as the Dockerfile says; UserError with its line if a file is not there, or a command fails."""
    if box.tree.exists():
        shutil.rmtree(box.tree)
    for top in box.tops:
        (box.tree / top).mkdir(parents=True, exist_ok=True)
    _inside(box.tree, box.workdir).mkdir(parents=True, exist_ok=True)
    for step in box.recipe.steps:
        if isinstance(step, Copy):
            copy_files([step], task, box.tree)
        else:
            _command(step, box, task, sandbox, log)
    shutil.rmtree(box.tree / "tmp", ignore_errors=True)


def copy_files(steps: Sequence[Copy], task: HarborTask, tree: Path) -> None:
    """Copy what COPY lines name into a tree; UserError with the line if it is not there."""
    for step in steps:
        _copy(step, task.folder / ENVIRONMENT, tree)


def _inside(tree: Path, place: str) -> Path:
    return tree.joinpath(*PurePosixPath(place).parts[1:])


def _copy(step: Copy, context: Path, tree: Path) -> None:
    target = _inside(tree, step.target)
    sources = [path for pattern in step.sources for path in _matching(context, pattern, step)]
    into = step.into or len(sources) > 1 or target.is_dir()
    for source in sources:
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
            continue
        place = target / source.name if into else target
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, place)
        if step.mode.isdecimal():
            place.chmod(int(step.mode, 8))


def _matching(context: Path, pattern: str, step: Copy) -> list[Path]:
    plain = pattern.strip("/")
    if plain in ("", "."):
        return [context]
    found = sorted(context.glob(plain))
    if not found:
        raise UserError(
            f"{context / 'Dockerfile'}:{step.line}: COPY: {shown(pattern)} is not below {context}; add it, or remove "
            "the line"
        )
    return found


def _command(step: Command, box: Box, task: HarborTask, sandbox: SandboxBackend, log: Path) -> None:
    _inside(box.tree, step.workdir).mkdir(parents=True, exist_ok=True)
    own = replace(box, workdir=step.workdir if step.workdir != "/" else box.workdir, env=step.env, stubs=None)
    ended = replace(own, wall_s=task.build_timeout_s).run(["/bin/bash", "-c", step.shell], sandbox, log)
    if ended.returncode:
        said = tail(log.with_name(f"{log.name}.stderr")) or f"it ended with {ended.returncode}"
        raise UserError(
            f"{task.folder / ENVIRONMENT / 'Dockerfile'}:{step.line}: RUN {shown(step.shell)} failed "
            f"({shown(said.splitlines()[-1], 200)}); correct it, or put what it makes into environment/"
        )


def tail(path: Path, most: int = TAIL) -> str:
    """Return the end of what a program wrote, cleaned."""
    if not path.is_file():
        return ""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - 4 * most))
        text = stream.read().decode(errors="replace")
    return "\n".join(lines(text)).strip()[-most:]
