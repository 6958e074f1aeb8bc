"""Apply the diffs and import the helpers of a meta-optimizer, always in the sandbox."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from sophron.interfaces.sandbox import Grant
from sophron.records.errors import UserError, shown
from sophron.sandbox.choose import choose

WALL_S, MEMORY_MB, PROCESSES, DISK_MB = 60.0, 1000, 32, 20
IMPORTED = (
    "import importlib.util, sys\n"
    "for number, path in enumerate(sys.argv[1:]):\n"
    "    spec = importlib.util.spec_from_file_location(f'helper{number}', path)\n"
    "    spec.loader.exec_module(importlib.util.module_from_spec(spec))\n"
)
NO_CONFIGURATION = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CEILING_DIRECTORIES": "/"}


def apply(diff: str, folder: Path) -> str | None:
    """Apply a unified diff to the files in `folder`, whole or not at all; what speaks against it, or None.

    `git apply` finds a hunk by its context, never by guessing; where the line counts of a hunk are wrong, as models
    write them, it counts itself. It writes where it is let: the caller looks at what changed. UserError without git.
    """
    git = shutil.which("git")
    if git is None:
        raise UserError("git is not on PATH; install it: diffs are applied by `git apply`")
    level = "1" if any(line.startswith(("--- a/", "+++ b/")) for line in diff.splitlines()) else "0"
    with TemporaryDirectory(prefix="sophron-diff-") as place:
        patch = Path(place) / "change.diff"
        patch.write_text(diff if diff.endswith("\n") else diff + "\n", encoding="utf-8")
        words = [git, "apply", f"-p{level}", "--whitespace=nowarn", str(patch)]
        given = [patch, *_beyond_usr(Path(git).resolve().parent.parent)]
        fault = _run(words, folder, given, Path(place))
        return fault and (_run([*words, "--recount"], folder, given, Path(place)) and fault)


def imported(helpers: Sequence[Path], folder: Path) -> str | None:
    """Import each helper with nothing granted but this Python; what speaks against it, or None."""
    if not helpers:
        return None
    pythons = [path for prefix in (sys.prefix, sys.base_prefix) for path in _beyond_usr(Path(prefix))]
    with TemporaryDirectory(prefix="sophron-helpers-") as place:
        command = [sys.executable, "-I", "-B", "-c", IMPORTED, *map(str, helpers)]
        work = Path(place) / "work"
        work.mkdir()
        return _run(command, work, [folder, *pythons], Path(place))


def _beyond_usr(folder: Path) -> list[Path]:
    """A folder of programs as a mount, unless the sandbox shows it anyway."""
    return [] if folder == Path("/usr") else [folder]


def _run(command: Sequence[str], workdir: Path, read_only: Sequence[Path], place: Path) -> str | None:
    grant = Grant(
        workdir,
        read_only=read_only,
        env=NO_CONFIGURATION | {"PATH": "/usr/bin:/bin"},
        wall_s=WALL_S,
        memory_mb=MEMORY_MB,
        processes=PROCESSES,
        disk_mb=DISK_MB,
    )
    out, err = place / "stdout", place / "stderr"
    ended = choose().run(command, grant, stdout=out, stderr=err)
    if ended.returncode == 0:
        return None
    if ended.limit:
        return f"it went beyond its limit of {ended.limit}"
    lines = [line for line in err.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return shown(lines[-1] if lines else f"exit code {ended.returncode}", 200)
