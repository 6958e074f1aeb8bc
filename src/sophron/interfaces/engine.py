"""Interface of engines: progress of a step, its restart files, and which failures a retry cures.

To add one, copy this into a package of yours, register the object under the entry points `sophron.engines`, and name
it in the stages of a kind (`StageKind(..., engine="cp2k")`):

    # setup.cfg of your package
    # [options.entry_points]
    # sophron.engines =
    #     cp2k = my_package.engine:CP2K

    import re
    from sophron.interfaces.engine import Engine, Progress, RestartFile

    class Cp2k(Engine):
        title = "CP2K"
        home_page = "https://www.cp2k.org/"
        gpu_accelerators = frozenset({"cuda"})

        def progress(self, workdir, log_dir):
            # Read a small file: people look on often, at many steps. Nothing to read yet is None.
            log = log_dir / "cp2k.log"
            found = re.findall(r"STEP NUMBER = +([0-9]+)", log.read_text()) if log.is_file() else []
            return Progress(int(found[-1]), total=None) if found else None

        def restart_files(self, workdir):
            # Spare ones: the step still goes on if all of them but the newest whole one are gone.
            return [RestartFile(path, timestep=None, valid=path.stat().st_size > 0)
                    for path in sorted(workdir.glob("*.restart*"))]

        def failure(self, code, said):
            # Recognise what the program itself says; leave signals and exit codes to the base class.
            if "out of memory" in said:
                return EngineFailure("CP2K ran out of memory", curable_by="memory")
            return super().failure(code, said)

    CP2K = Cp2k()
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sophron.interfaces.kind import EngineFailure, EnvironmentFailure

NOT_STARTED = (126, 127)
"""Exit codes of shells, loaders and MPI starters for a program that cannot be run."""
TIME_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGXCPU, signal.SIGALRM}


@dataclass(frozen=True)
class Progress:
    """How far a step is.

    step, total: what is counted, since the start of the whole step; steps_per_s: speed of the present try;
    seconds_left: to the end of the step. All but `step` are None if unknown. unit: what is counted, in the plural.
    """

    step: int
    total: int | None
    steps_per_s: float | None = None
    seconds_left: float | None = None
    unit: str = "steps"


@dataclass(frozen=True)
class RestartFile:
    """A file that a step may continue from. timestep: of the run, None if unknown; valid: written to its end."""

    path: Path
    timestep: int | None
    valid: bool


class Engine:
    """A program that does physics. Found by name through the entry points `sophron.engines`, which hold instances.

    Its module is loaded by `sophron status`, so it imports nothing heavy at its top. title: as people write it;
    home_page: its address, for the RO-Crate; gpu_accelerators: values of the mechanical key `accelerator` that want a
    GPU, one a step.
    """

    title: str
    home_page: str = ""
    gpu_accelerators: frozenset[str] = frozenset()

    def installed(self) -> str:
        """Return a line on the program on this machine: version, what it was built with; EnvironmentFailure if none."""
        return ""

    def lacks(self, styles: Sequence[str]) -> list[str]:
        """Return those of these styles that the program on this machine does not have; EnvironmentFailure if none."""
        del styles
        return []

    def progress(self, workdir: Path, log_dir: Path) -> Progress | None:
        """Return how far a step is, live or dead; None if that cannot be known.

        workdir: scratch folder of the step; log_dir: folder of its try below `records/` (of an agent's step, its
        scratch folder again). A sandboxed program may have written there, so no file is to be believed.
        """
        del workdir, log_dir
        return None

    def restart_files(self, workdir: Path) -> Sequence[RestartFile]:
        """Return the restart files of which a step needs the newest whole one only; none if it keeps no spare ones."""
        del workdir
        return ()

    def failure(self, code: int | None, said: str) -> EngineFailure:
        """Explain why the program ended, and whether a further try helps.

        code: its exit code, None if it runs inside our own process; said: what it wrote. `curable_by` of the result is
        "memory" if the system killed it (as systems do that run out of memory), "time" if a queue or a time limit
        stopped it, else None: the same input would fail again. EnvironmentFailure: the machine cannot run it.
        """
        last = (said.strip().splitlines() or ["it said nothing"])[-1]
        if code is None:
            return EngineFailure(f"{self.title} stopped: {said}")
        number = signal_of(code)
        if not may_have_started(code):
            why = last if code in NOT_STARTED else "it was built for another processor (SIGILL)"
            return EnvironmentFailure(f"{self.title} cannot run here: {why[:300]}")
        if number == signal.SIGKILL:
            reason = f"{self.title} was killed, as systems do that run out of memory"
            return EngineFailure(reason, curable_by="memory")
        if number in TIME_SIGNALS and code != number:
            return EngineFailure(f"{self.title} was stopped by {signal.Signals(number).name}", curable_by="time")
        return EngineFailure(f"{self.title} ended with exit code {code}: {last[:200]}")


def signal_of(code: int) -> int:
    """Return the signal behind an exit code: of the program, a shell (128 + n), or a Python wrapper (256 - n)."""
    if code < 0:
        return -code
    return 256 - code if code > 192 else code - 128 if code > 128 else code


def may_have_started(code: int) -> bool:
    """Return whether an exit code leaves open that the program ran at all on this processor."""
    return code not in NOT_STARTED and not (signal_of(code) == signal.SIGILL != code)
