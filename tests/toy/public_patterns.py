"""Public patterns that campaigns, benches and tests use: where each file lies, pinned by commit and digest."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from sophron.records.digests import file_digest
from sophron.records.errors import UserError
from sophron.records.files import write_bytes

GSAS2 = "https://raw.githubusercontent.com/AdvancedPhotonSource/GSAS-II/013259a0defab16f8414e1fcfa6b0274f1c61ecf/tests/testinp/"
TUTORIALS = (
    "https://raw.githubusercontent.com/AdvancedPhotonSource/GSAS-II-tutorials/"
    "e1e260108e8881663e3c2ebfbba59d712220f6ca/LabData/data/"
)
FILES: Mapping[str, tuple[str, str]] = {
    "PBSO4.XRA": (GSAS2, "ca2da02fc7e17d2fc912de22a979f8101ba6140f2e8104f9d3aa64f030ca58bb"),
    "PBSO4.CWN": (GSAS2, "59462ba6d7c72c9800b0b6bf41903f9933ed5ac5adab101d27022d5d25cf18ba"),
    "INST_XRY.PRM": (GSAS2, "e59413059bc3b12a51f1c6eebc5d581470320d05a31f11a41dbb32e16d1d16b9"),
    "inst_d1a.prm": (GSAS2, "a1031174a9b509f889377752f5c095a1dad49a25fb0a72c057f184f7b321fcea"),
    "PbSO4-Wyckoff.cif": (GSAS2, "9bc19d0995561afd78a5f0563599c032751621da994e36c7570b4f515d9f0e2f"),
    "FAP.XRA": (TUTORIALS, "b567c0cc2b022143002976824b5ba544ac09119d67a40b0fc1cf2d52d562d304"),
    "FAP.EXP": (TUTORIALS, "39069bc613af3374555f8b553cedcf6c849c70f2a9c9f52fbbb5050bd85277e5"),
}
"""By name: the address it lies below, and its sha256. PbSO4: X-rays and neutrons of the CPD round robin (Hill 1992,
10.1107/S0021889892003649); FAP: fluorapatite, a laboratory diffractometer."""

VARIABLE = "SOPHRON_XRD_DATA"
"""A folder that holds these files, for machines without a network."""

TIMEOUT_S = 60.0
LARGEST_BYTES = 1024**2


def take(name: str, folder: Path | None = None) -> Path:
    """Return the file called `name`: in `folder`, or in the one that SOPHRON_XRD_DATA names.

    Raise UserError if it is not it.
    """
    where = folder or (Path(os.environ[VARIABLE]) if VARIABLE in os.environ else None)
    if where is None:
        raise UserError(f"{name} is not there; download it into a folder and name that in {VARIABLE}")
    path = where / name
    if not path.is_file():
        raise UserError(f"{path}: there is no such file; put it there, from {FILES[name][0]}{name}")
    _check(path, name)
    return path


def download(name: str, folder: Path) -> Path:
    """Return the file called `name` in `folder`, where it is written if it is not there. UserError with its address."""
    path = folder / name
    if not path.is_file():
        address = FILES[name][0] + name
        try:
            with urllib.request.urlopen(address, timeout=TIMEOUT_S) as answer:
                content = answer.read(LARGEST_BYTES)
        except (urllib.error.URLError, OSError) as error:
            said = getattr(error, "reason", error)
            raise UserError(f"{address}: could not be downloaded ({said}); or put it into {folder}") from None
        write_bytes(path, content)
    _check(path, name)
    return path


def _check(path: Path, name: str) -> None:
    if file_digest(path) != FILES[name][1]:
        raise UserError(f"{path}: is not the file that was pinned (sha256 {FILES[name][1][:12]}...); remove it")
