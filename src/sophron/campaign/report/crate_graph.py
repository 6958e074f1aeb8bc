"""The graph of an RO-Crate: entities by their @id, files with their digests, and what was done, as plain JSON-LD.

RO-Crate 1.1 (https://w3id.org/ro/crate/1.1) with the Process Run Crate profile 0.5, and PROV-O relations. Written as
plain JSON-LD, so that equal records give equal bytes and nobody pays for the import of a crate library.
"""

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sophron.campaign.spec import engines

Entity = dict[str, object]
NAME = "ro-crate-metadata.json"
CRATE = "https://w3id.org/ro/crate/1.1"
LICENSE_ID = "#license"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
CONTEXT = [
    f"{CRATE}/context",
    {
        "prov": "http://www.w3.org/ns/prov#",
        "sha256": "https://w3id.org/ro/terms/workflow-run#sha256",
    },
]
HOME_PAGES = {"numpy": "https://numpy.org/", "scipy": "https://scipy.org/"}
"""Of libraries; engines bring their own."""
MEDIA = {
    ".yaml": "application/yaml",
    ".npz": "application/zip",
    ".data": "text/plain",
    ".svg": "image/svg+xml",
    ".jsonl": "application/jsonl",
}


@dataclass
class Graph:
    """Entities by their @id, in the order in which they came."""

    folder: Path
    entities: dict[str, Entity] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)

    def add(self, identifier: str, kind: str | list[str], **properties: Any) -> str:
        """Add an entity, unless it is there; its @id. Properties that say nothing are left out."""
        said = {key.replace("__", ":"): single(value) for key, value in properties.items()}
        said = {key: value for key, value in said.items() if value not in (None, "", [])}
        self.entities.setdefault(identifier, {"@id": identifier, "@type": kind} | said)
        return identifier

    def action(self, identifier: str, kind: str, **properties: Any) -> str:
        """Add something that was done."""
        self.mentions.append(self.add(identifier, [kind, "prov:Activity"], **properties))
        return identifier

    def file(self, path: Path, name: str, sha256: str, **properties: Any) -> str:
        """Add a file: by its path where it lies in the crate's folder, by an absolute URI otherwise."""
        identifier = self.identifier(path)
        if identifier not in self.entities:
            media = MEDIA.get(path.suffix) or mimetypes.guess_type(path.name)[0]
            size = str(path.stat().st_size)
            about = {"name": name, "sha256": sha256, "contentSize": size, "encodingFormat": media}
            self.parts.append(self.add(identifier, ["File", "prov:Entity"], **about, **properties))
        return identifier

    def identifier(self, path: Path) -> str:
        """Return the @id of a file."""
        absolute = Path(path).absolute()
        if absolute.is_relative_to(self.folder):
            return quote(absolute.relative_to(self.folder).as_posix())
        return absolute.as_uri()

    def person(self, name: str) -> str:
        """Add somebody."""
        return self.add(f"#person-{quote(name)}", ["Person", "prov:Agent"], name=name)

    def tool(self, name: str, version: str) -> str:
        """Add a program or library."""
        engine = engines.find(name)
        return self.add(
            f"#tool-{quote(name)}-{quote(version)}",
            ["SoftwareApplication", "prov:Agent"],
            name=name,
            softwareVersion=version,
            url=engine.home_page if engine else HOME_PAGES.get(name),
        )

    def document(self, root: Mapping[str, object], license_about: str) -> dict[str, object]:
        """Return the content of `ro-crate-metadata.json`. root: properties of the crate itself beyond its parts.

        license_about: one sentence; neither a campaign nor a contract states a licence that could be named.
        """
        terms: Entity = {"@id": LICENSE_ID, "@type": "CreativeWork", "name": "No license stated"}
        crate: Entity = {
            "@id": "./",
            "@type": "Dataset",
            "license": ref(LICENSE_ID),
            "conformsTo": ref(PROFILE),
            "hasPart": [ref(one) for one in self.parts],
            "mentions": [ref(one) for one in self.mentions],
        }
        descriptor: Entity = {"@id": NAME, "@type": "CreativeWork", "conformsTo": ref(CRATE), "about": ref("./")}
        profile: Entity = {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"}
        head = [descriptor, crate | dict(root), profile, terms | {"description": license_about}]
        return {"@context": CONTEXT, "@graph": [*head, *self.entities.values()]}


def ref(identifier: str) -> Entity:
    """Return a reference to an entity."""
    return {"@id": identifier}


def single(value: Any) -> Any:
    """RO-Crate wants a list of one written as the one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value
