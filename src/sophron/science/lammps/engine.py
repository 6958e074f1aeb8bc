"""LAMMPS as an engine: its live log, its spare restart files, and what its last words mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sophron.interfaces.engine import Engine, Progress, RestartFile, may_have_started
from sophron.interfaces.kind import EngineFailure, EnvironmentFailure
from sophron.science.lammps import logfile

OUT_OF_MEMORY = ("Failed to allocate", "std::bad_alloc", "Cannot allocate memory", "out of memory")
LACKING = re.compile(
    r"error while loading shared libraries|version `\S+' not found|not enabled in this LAMMPS binary"
    r"|No space left on device|Disk quota exceeded|Read-only file system|Stale file handle|Exec format error"
)
"""What loaders, file systems and LAMMPS itself say of a machine that has not what the run needs."""


class LammpsEngine(Engine):
    """LAMMPS: its thermo output tells how far it is, and it writes two restart files in turn."""

    title = "LAMMPS"
    home_page = "https://www.lammps.org/"
    gpu_accelerators = frozenset({"gpu", "kk"})

    def installed(self) -> str:
        """Return version and accelerators; which styles it has is a question of a draft (`lacks`)."""
        from sophron.science.lammps import executable

        program = executable.find()
        return f"{program.version}; accelerators: {', '.join(sorted(program.suffixes)) or 'none'}"

    def lacks(self, styles: Sequence[str]) -> list[str]:
        """Look for each style in what `lmp -h` lists."""
        from sophron.science.lammps import executable

        known = set(executable.find().help.split())
        return [style for style in styles if style not in known]

    def progress(self, workdir: Path, log_dir: Path) -> Progress | None:
        """Read the thermo table of the run that is going on."""
        del workdir
        return logfile.progress(log_dir / logfile.LIVE_NAME if log_dir.is_dir() else log_dir)

    def restart_files(self, workdir: Path) -> list[RestartFile]:
        """List `run.<n>.{a,b,end}.restart`."""
        from sophron.science.lammps.segments import RESTART, is_whole, timestep_of

        found = [path for path in workdir.glob("*.restart") if RESTART.fullmatch(path.name)]
        return [RestartFile(path, timestep_of(path), is_whole(path)) for path in found]

    def failure(self, code: int | None, said: str) -> EngineFailure:
        """Explain an end by LAMMPS's own words if it left any; an allocation that failed is curable by memory."""
        if any(words in said for words in OUT_OF_MEMORY):
            return EngineFailure("LAMMPS ran out of memory", curable_by="memory")
        missing = next((line.strip() for line in said.splitlines() if LACKING.search(line)), None)
        if missing:
            return EnvironmentFailure(f"LAMMPS cannot run here: {missing[:300]}")
        errors = logfile.errors(said)
        if errors and code is not None and may_have_started(code):
            return EngineFailure(f"LAMMPS stopped: {errors[-1]}")
        return super().failure(code, said)


LAMMPS = LammpsEngine()
