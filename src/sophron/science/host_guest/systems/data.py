"""The SAMPL benchmarks: fetched from their public repositories, or taken from a folder, and checked byte by byte.

The project ships none of these files. Measured free energies are fetched apart, so that they need never lie where
generated code or an agent can read.
"""

from __future__ import annotations

import hashlib
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.files import write_bytes
from sophron.records.typed_json import from_json
from sophron.science import local_data
from sophron.science.host_guest.task_metadata import Symmetry

SOURCES = Path(__file__).parent / "sources.yaml"
RAW = "https://raw.githubusercontent.com"
PATIENCE_S = 60.0


@dataclass(frozen=True)
class PinnedFiles:
    """Files below `root` of a public repository at a commit. files: path -> sha256."""

    repository: str
    commit: str
    root: str
    files: Mapping[str, str]

    @property
    def address(self) -> str:
        """Where they lie on the server."""
        return f"{self.repository}/{self.commit}/{self.root}"


@dataclass(frozen=True)
class Benchmark(PinnedFiles):
    """One host with its guests, as `sources.yaml` describes it.

    guests: codes in the order that indices count; training: indices; remarks: of guests, what their files are known to
    contradict; references: files of the measured values.
    """

    layout: str
    folder: str
    host: str
    guests: tuple[str, ...]
    training: tuple[int, ...]
    temperature_k: float
    ph: float
    ionic_strength_molar: float
    symmetry: Symmetry
    references: PinnedFiles
    remarks: Mapping[str, str] = field(default_factory=dict)
    name: str = ""

    @property
    def held_out(self) -> tuple[int, ...]:
        """Indices of the guests that are not for training."""
        return tuple(index for index in range(len(self.guests)) if index not in self.training)


def benchmark(name: str) -> Benchmark:
    """Return a benchmark by its name; UserError if there is none of it."""
    known = documents.load_yaml(SOURCES).data
    if name not in known:
        raise UserError(f"there is no benchmark {name}; take one of {', '.join(sorted(known))}.")
    return replace(from_json(Benchmark, known[name]), name=name)


def fetch(found: Benchmark, folder: Path, server: str = RAW) -> Path:
    """Bring the files of host and guests to `<folder>/<benchmark's folder>`, without measured values; that folder.

    Raise UserError if a file cannot be had, or is not the pinned one.
    """
    return _fetched(found, found, folder, server)


def fetch_references(found: Benchmark, folder: Path, server: str = RAW) -> Path:
    """Bring the files of measured values to `<folder>/<benchmark's folder>`; as `fetch`."""
    return _fetched(found, found.references, folder, server)


def check(found: Benchmark, folder: Path) -> None:
    """Raise UserError if a file below `folder` is not the pinned one; missing ones are met when they are read."""
    for name, digest in found.files.items():
        path = folder / found.folder / name
        if path.is_file() and _sha256(path.read_bytes()) != digest:
            raise UserError(f"{path} is not the file of the benchmark (sha256 differs); fetch it again.")


def _fetched(found: Benchmark, pinned: PinnedFiles, folder: Path, server: str) -> Path:
    target = folder / found.folder
    for name, digest in pinned.files.items():
        path = target / name
        if path.is_file() and _sha256(path.read_bytes()) == digest:
            continue
        url = f"{server}/{pinned.address}/{name}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:  # noqa: S310 - https, or a test's own
                data = answer.read()
        except (urllib.error.URLError, TimeoutError) as error:
            raise UserError(
                f"{url} cannot be fetched ({error}); put the files of {found.name} into the campaign's folder "
                f"{local_data.FOLDER}/{found.folder} and run again, or, before signing, name a folder that holds "
                f"{found.folder} as settings.data of both stages, tasks and references."
            ) from error
        if _sha256(data) != digest:
            raise UserError(f"{url} is not the pinned file (sha256 differs); do not use it, and report this.")
        write_bytes(path, data)
    return target


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
