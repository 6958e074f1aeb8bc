"""GSAS-II through GSASIIscriptable, in the environment that SOPHRON_GSAS2_PYTHON names."""

from __future__ import annotations

import os
import shutil
import subprocess

from sophron.interfaces.rietveld import Capabilities, Group
from sophron.science.rietveld.request_validation import GROUPS
from sophron.science.rietveld.subprocess_engine import EngineProcess, ExternalEngine

VARIABLE = "SOPHRON_GSAS2_PYTHON"
PATIENCE_S = 60.0

MOST_COEFFICIENTS = 36
BACKGROUNDS = (
    "chebyshev",
    "cosine",
    "Q^2 power series",
    "Q^-2 power series",
    "lin interpolate",
    "inv interpolate",
    "log interpolate",
)


class Gsas2(ExternalEngine):
    """GSAS-II in a process of its own Python; Toby and Von Dreele 2013, 10.1107/S0021889813003531."""

    name = "gsas2"

    def __init__(self) -> None:
        super().__init__()
        self._found: tuple[str, str | None] | None = None

    def missing(self) -> str | None:
        """Return one sentence that says what lacks, or None. Looked up once for each value of the variable."""
        python = os.environ.get(VARIABLE, "")
        if self._found is None or self._found[0] != python:
            self._found = (python, _lack(python))
        return self._found[1]

    def capabilities(self) -> Capabilities:
        """Return what can be asked of it. Displacement is of a flat specimen, absorption of a capillary."""
        lacks: dict[Group, str] = {}
        return Capabilities(
            groups=frozenset(GROUPS),
            lacks=lacks,
            backgrounds=dict.fromkeys(BACKGROUNDS, MOST_COEFFICIENTS),
            geometries=frozenset({"bragg_brentano", "debye_scherrer"}),
            wavelengths=2,
            radiations=frozenset({"xray", "neutron"}),
        )

    def _make(self) -> EngineProcess:
        return EngineProcess("gsas2_ops", os.environ[VARIABLE], {"MPLBACKEND": "Agg"})


def _lack(python: str) -> str | None:
    if not python:
        return f"GSAS-II is not there; make an environment with envs/gsas2.yaml and name its Python in {VARIABLE}"
    if shutil.which(python) is None:
        return f"{VARIABLE}: {python} is no program; name the Python of an environment that has GSAS-II"
    probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec('GSASII.GSASIIscriptable') is None)"
    try:
        found = subprocess.run([python, "-c", probe], capture_output=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return f"{VARIABLE}: {python} does not run; name the Python of an environment that has GSAS-II"
    if found.returncode != 0:
        return f"{VARIABLE}: {python} has no GSASII; install GSAS-II into its environment"
    return None
