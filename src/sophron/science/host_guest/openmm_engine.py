"""OpenMM as an engine: how many samples of a window are taken, and which of its errors are the machine's."""

from __future__ import annotations

import re
from pathlib import Path

from sophron.interfaces.engine import Engine, Progress
from sophron.interfaces.kind import EngineFailure, EnvironmentFailure
from sophron.records import step_progress

DEVICE_FAULT = re.compile(r"CUDA_ERROR|CL_OUT_OF|CL_DEVICE|\bcl[A-Z]\w+")
"""What OpenMM says of a graphics processor that failed, in the words of CUDA and OpenCL."""
RUN = re.compile(r"segments_(\w{1,40})")


class OpenMMEngine(Engine):
    """OpenMM in a stage file. A run of windows replaces the one state it keeps: no restart file is spare."""

    title = "OpenMM"
    home_page = "https://openmm.org/"
    gpu_accelerators = frozenset({"gpu"})

    def progress(self, workdir: Path, log_dir: Path) -> Progress | None:
        """Read the samples of the run that is going on: a production step makes one run after another."""
        del log_dir
        found = list(workdir.glob(f"*/work/segments_*/{step_progress.NAME}"))
        run = RUN.fullmatch(found[0].parent.name) if found else None
        return step_progress.without_end(step_progress.read(found[0], f"samples ({run[1]})")) if run else None

    def failure(self, code: int | None, said: str) -> EngineFailure:
        """Explain an exception of OpenMM. What a graphics processor says is not a fault of the simulation."""
        found = super().failure(code, said)
        return EnvironmentFailure(found.reason) if DEVICE_FAULT.search(said) else found


OPENMM = OpenMMEngine()
