"""Plain form of values that a Snakefile computes: params, config, globals. Equal values give equal bytes anywhere."""

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

from sophron.campaign.planning.host_step import WORKDIR


@dataclass(frozen=True)
class Places:
    """Absolute folders that differ between checkouts, longest first -> what stands for them."""

    names: Mapping[str, str]

    @classmethod
    def of(cls, workdir: Path, source: Path, cache: str = "") -> "Places":
        """workdir: where Snakemake runs; source: the folder of the main Snakefile; cache: of copies of source files.

        `workflow.source_path` gives a copy, by its whole path in a folder that each driver has for itself.
        """
        found = {os.environ.get("PWD", ""): WORKDIR} if _is_here(os.environ.get("PWD", "")) else {}
        found |= {str(source): "<workflow>", str(source.resolve()): "<workflow>"}
        found |= {str(workdir): WORKDIR, str(workdir.resolve()): WORKDIR}
        found |= {os.path.join(cache, "file"): ""} if cache else {}  # noqa: PTH118 - texts
        return cls(dict(sorted(found.items(), key=lambda item: -len(item[0]))))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Any of the folders as a whole: `/a/b` begins `/a/b/c`, and not `/a/bc`."""
        return re.compile("(" + "|".join(map(re.escape, self.names)) + r")(?![\w.-])")

    def strip(self, text: str) -> str:
        """Return the text without those folders."""
        return self._pattern.sub(lambda found: self.names[found[1]], text) if "/" in text else text

    def full(self, text: str) -> str:
        """Return the text with the folders of this checkout again."""
        for folder, name in self.names.items():
            text = text.replace(name, folder) if name else text
        return text

    def original(self, text: str) -> Path | None:
        """Return the source file of which a path names Snakemake's copy; None for any other text."""
        copies = (folder for folder, name in self.names.items() if not name and text.startswith(f"{folder}/"))
        return next((Path(text.removeprefix(folder)) for folder in copies), None)


def _is_here(path: str) -> bool:
    """Whether the shell calls the working directory so, by a symbolic link."""
    return os.path.isabs(path) and os.path.realpath(path) == os.getcwd()  # noqa: PTH109, PTH117


@dataclass
class Plain:
    """Turns values into JSON. opaque: types of values that have no plain form, which nobody can sign by content."""

    places: Places
    opaque: set[str] = field(default_factory=set)

    def __call__(self, value: Any) -> object:
        """Return the plain form: numbers as text, sets sorted, tables by digest, folders stripped."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str | PurePath):
            return self.places.strip(str(value))
        if isinstance(value, int | float | bytes | re.Pattern):
            return {type(value).__name__: repr(value)}
        if isinstance(value, Mapping):
            return {"dict": sorted(([self(key), self(item)] for key, item in value.items()), key=repr)}
        return self._collection(value)

    def _collection(self, value: Any) -> object:
        if isinstance(value, Sequence | range):
            return [self(item) for item in value]
        if isinstance(value, set | frozenset):
            return {"set": sorted((self(item) for item in value), key=repr)}
        if hasattr(value, "item") and not getattr(value, "shape", ()):  # a scalar of numpy
            return self(value.item())
        if hasattr(value, "to_csv"):  # a table or column of pandas
            return {"table": hashlib.sha256(value.to_csv().encode()).hexdigest()}
        if hasattr(value, "tolist"):
            return self(value.tolist())
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        self.opaque.add(name)
        return {"opaque": name}
