"""Run LAMMPS on an input in a work folder, and say in one sentence why it failed when it did.

An input that holds free text runs in the sandbox, which shows it the program and its work folder only.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.interfaces.kind import EngineFailure, EnvironmentFailure, StepContext, engine_s
from sophron.interfaces.sandbox import Ended, Grant
from sophron.records import entry_points
from sophron.records.files import write_text
from sophron.sandbox.select_backend import DEFAULT, GROUP
from sophron.science.lammps import input_checker, logfile
from sophron.science.lammps.engine import LAMMPS
from sophron.science.lammps.executable import Lammps

if TYPE_CHECKING:
    from sophron.interfaces.sandbox import SandboxBackend

PR_SET_PDEATHSIG = 1


def stop_after_s(ctx: StepContext) -> int:
    """Return seconds for `timer timeout` in an input: within the try's wall time, with room to write a restart file."""
    return engine_s(ctx.runtime_min)


def run_lammps(lammps: Lammps, name: str, text: str, ctx: StepContext, *, free_text: bool = False) -> Path:
    """Run the input `text` in ctx.workdir until it ends, and return its log.

    The input is kept as `in.<name>` in the work folder and in the log folder; the log is `log.lammps` in the log
    folder while LAMMPS runs, and `log.<name>.lammps` afterwards. free_text: the input holds lines that are not ours,
    so it runs in the sandbox, unless ctx.unsandboxed_fragments. Raises EngineFailure; `curable_by` says what a retry
    must grow.
    """
    findings = input_checker.check(text)
    if findings:
        raise EngineFailure(f"in.{name}:{findings[0].line}: {findings[0].reason}")
    write_text(ctx.workdir / f"in.{name}", text)
    write_text(ctx.log_dir / f"in.{name}", text)
    live, output = ctx.log_dir.resolve() / logfile.LIVE_NAME, ctx.log_dir / f"{name}.out"
    if free_text and not ctx.unsandboxed_fragments:
        code = _sandboxed(lammps, name, ctx, output, live)
    else:
        command = [*_starter(lammps, ctx), *_arguments(lammps, name, live, ctx)]
        code = _wait(command, _environment(lammps, ctx), output, ctx)
    if code != 0:
        raise _failure(code, output, live)
    return live.replace(ctx.log_dir / f"log.{name}.lammps")


def _starter(lammps: Lammps, ctx: StepContext) -> list[str]:
    return [str(lammps.mpiexec()), "-n", str(ctx.cores.ranks)] if ctx.cores.ranks > 1 else []


def _arguments(lammps: Lammps, name: str, log: Path, ctx: StepContext) -> list[str]:
    """Command line of LAMMPS. An accelerator that this program lacks is left out: it never changes what is meant.

    `opt` needs no check: a program without it takes the plain styles.
    """
    arguments = [str(lammps.program), "-in", f"in.{name}", "-log", str(log), "-nocite"]
    suffix = ctx.cores.accelerator
    if suffix == "none" or (suffix != "opt" and suffix not in lammps.suffixes):
        return arguments
    threads = ["-pk", "omp", str(ctx.cores.threads)] if suffix == "omp" else []
    return [*arguments, "-sf", suffix, *threads]


def _environment(lammps: Lammps, ctx: StepContext) -> dict[str, str]:
    """What LAMMPS inherits. On one node the starter forks its ranks and asks no queue to place them."""
    local = {"HYDRA_LAUNCHER": "fork", "HYDRA_RMK": "user", "I_MPI_HYDRA_BOOTSTRAP": "fork"}
    return {
        **(local if ctx.cores.nodes == 1 else _slurm_nodes(ctx)),
        **os.environ,
        **lammps.environment,
        "OMP_NUM_THREADS": str(ctx.cores.threads),
    }


def _slurm_nodes(ctx: StepContext) -> dict[str, str]:
    """What MPI starters read of a Slurm job with several nodes; Snakemake's job step leaves the job's id alone."""
    job = os.environ.get("SLURM_JOB_ID")
    if not job:
        return {}
    command = ["squeue", "--noheader", f"--jobs={job}", "--format=%N"]
    asked = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if not asked.stdout.strip():
        raise EnvironmentFailure(f"squeue does not name the nodes of the job {job}: {asked.stderr.strip()}")
    nodes, each = str(ctx.cores.nodes), ctx.cores.ranks // ctx.cores.nodes
    found = {"SLURM_JOB_NODELIST": asked.stdout.strip(), "SLURM_NODELIST": asked.stdout.strip()}
    counts = {"SLURM_JOB_NUM_NODES": nodes, "SLURM_NNODES": nodes, "SLURM_TASKS_PER_NODE": f"{each}(x{nodes})"}
    return {**found, **counts}


def _wait(command: Sequence[str], environment: dict[str, str], output: Path, ctx: StepContext) -> int:
    """Exit code of `command`, negative for a signal. Nothing else happens here while it runs.

    It runs in its own process group, which ends with this process, whatever ends it.
    """
    with output.open("wb") as stream:
        try:
            process = subprocess.Popen(
                command,
                cwd=ctx.workdir,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                process_group=0,
                preexec_fn=_die_with_parent(),  # noqa: PLW1509 - steps have one thread
            )
        except OSError as error:
            raise EnvironmentFailure(f"{command[0]} cannot be started: {error.strerror}") from None
        try:
            return process.wait(timeout=ctx.runtime_min * 60)
        except subprocess.TimeoutExpired:
            raise EngineFailure(f"LAMMPS did not end within {ctx.runtime_min} min", curable_by="time") from None
        finally:
            _end_group(process)


def _die_with_parent() -> Callable[[], None]:
    """A function for the new process: the kernel kills it when its parent ends, by `kill -9` too."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def arrange() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the line above
            os.kill(os.getpid(), signal.SIGKILL)

    return arrange


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a process group: ranks whose starter has ended, or all of it after a time-out."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def _sandboxed(lammps: Lammps, name: str, ctx: StepContext, output: Path, log: Path) -> int:
    """Exit code of LAMMPS in the sandbox. Its log lies in the work folder, the only one it may write to."""
    if ctx.cores.ranks > 1:
        raise EnvironmentFailure(
            "an input with fragments runs in the sandbox on one rank; set ranks to 1 and use threads"
        )
    inner = ctx.workdir.resolve() / logfile.LIVE_NAME
    inner.unlink(missing_ok=True)
    grant = Grant(
        workdir=ctx.workdir,
        env={**lammps.environment, "OMP_NUM_THREADS": str(ctx.cores.threads)},
        memory_mb=ctx.memory_mb,
        wall_s=ctx.runtime_min * 60,
    )
    log.symlink_to(inner)  # so that whoever looks for the live log finds it
    try:
        return run_in_sandbox(lammps, _arguments(lammps, name, inner, ctx), grant, output)
    finally:
        log.unlink()
        if inner.exists():
            shutil.copyfile(inner, log, follow_symlinks=False)


def _failure(code: int, output: Path, log: Path) -> EngineFailure:
    said = "".join(path.read_text(errors="replace") for path in (log, output) if path.is_file())
    return LAMMPS.failure(code, said)


LOADED = re.compile(r"=> (/\S+) \(")
SHOWN = {"lib", "lib32", "lib64", "usr"}
"""Top folders of the system's own libraries, which every sandbox shows; /usr/local it does not."""

CURES = {"wall_s": "time", "cpu_s": "time", "memory_mb": "memory"}


def run_in_sandbox(lammps: Lammps, command: Sequence[str], grant: Grant, output: Path) -> int:
    """Return the exit code of `command` inside.

    EnvironmentFailure if no sandbox works here, EngineFailure if a limit ended it.
    """
    backend = _backend()
    errors = output.with_suffix(".err")
    ended: Ended = backend.run(command, _with_program(lammps, grant), stdout=output, stderr=errors)
    if ended.limit is not None:
        raise EngineFailure(f"LAMMPS passed the sandbox's limit {ended.limit}", curable_by=CURES.get(ended.limit))
    with output.open("ab") as stream:
        stream.write(errors.read_bytes())
    errors.unlink()
    return ended.returncode


def _backend() -> SandboxBackend:
    """The default backend, or the first other installed one that works on this machine."""
    reasons = []
    for name in sorted(entry_points.names(GROUP), key=lambda name: name != DEFAULT):
        backend: SandboxBackend = entry_points.load(GROUP, name)()
        missing = backend.missing()
        if missing is None:
            return backend
        reasons.append(missing)
    said = "; ".join(reasons) or "no sandbox backend is installed"
    raise EnvironmentFailure(
        f"the input has fragments, which run in a sandbox or not at all: {said}; or remove them from the definition"
    )


def _with_program(lammps: Lammps, grant: Grant) -> Grant:
    """The grant with the program and the libraries that it loads from places that a sandbox does not show."""
    listed = subprocess.run(
        ["ldd", lammps.program], env={**os.environ, **lammps.environment}, capture_output=True, text=True, check=False
    )
    loaded = [Path(os.path.normpath(found)) for found in LOADED.findall(listed.stdout)]
    hidden = [path for path in loaded if path.parts[1] not in SHOWN or path.parts[2] == "local"]
    return replace(grant, read_only=(*grant.read_only, lammps.program, *hidden))
