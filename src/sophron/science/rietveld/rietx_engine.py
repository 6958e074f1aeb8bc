"""The embedded engine: rietx, from PyPI (`pip install 'sophron[xrd]'`)."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version

from sophron.interfaces.rietveld import Capabilities, Group
from sophron.science.rietveld.request_validation import GROUPS
from sophron.science.rietveld.subprocess_engine import EngineProcess, ExternalEngine

VERSION = "1.10.0"
"""As pinned in setup.cfg: another one may give other numbers."""

_LACKS: dict[Group, str] = {
    "absorption": "it takes instrument.absorption as given, because a free one would bias the displacement parameters",
}


class Rietx(ExternalEngine):
    """rietx in a process of this Python."""

    name = "rietx"

    def missing(self) -> str | None:
        """Return one sentence that says what lacks, or None."""
        try:
            found = version("rietx")
        except PackageNotFoundError:
            return "rietx is not installed; pip install 'sophron[xrd]'"
        return None if found == VERSION else f"rietx {found} is not {VERSION}; pip install 'sophron[xrd]'"

    def capabilities(self) -> Capabilities:
        """Return what can be asked of it."""
        return Capabilities(
            groups=frozenset(GROUPS) - frozenset(_LACKS),
            lacks=_LACKS,
            backgrounds={"chebyshev": 36},
            geometries=frozenset({"bragg_brentano", "debye_scherrer", "transmission"}),
            wavelengths=2,
            radiations=frozenset({"xray", "neutron"}),
        )

    def _make(self) -> EngineProcess:
        # Its own record of runs would be written into the working directory.
        threads = os.environ.get("OMP_NUM_THREADS", "1")
        quiet = {"RIETX_TELEMETRY": "0", "RIETX_COMPILED_THREADS": threads, "MPLBACKEND": "Agg"}
        return EngineProcess("rietx_ops", sys.executable, quiet)
