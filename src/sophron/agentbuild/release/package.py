"""The package of a built agent: made on P-strict and a release tag, the same bytes for the same content."""

import io
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sophron.agentbuild.release import agent_card
from sophron.agentbuild.release import packaged_agent as auds
from sophron.agentbuild.release import trail as trails
from sophron.agentbuild.release.packaged_agent import Aud
from sophron.agentbuild.release.trail import Trail
from sophron.agents.documents.redact import Redactor
from sophron.records import documents
from sophron.records.digests import digest, file_digest
from sophron.records.errors import UserError
from sophron.records.files import write_bytes, write_json

NAME = "package.json"
FOLDER = "releases"
AUD, MODELS, TOOLS = "aud", "config/models.yaml", "tools.yaml"
MOST_BYTES = 50_000_000


@dataclass(frozen=True)
class Package:
    """A released agent, read and checked. manifest: content of `package.json`."""

    folder: Path
    manifest: Mapping[str, Any]

    @cached_property
    def aud(self) -> Aud:
        """The agent in it."""
        return auds.load_agent(self.folder / AUD, servers(self.folder / TOOLS))

    @cached_property
    def endpoint(self) -> Mapping[str, Any]:
        """What its callers rely on."""
        found: Mapping[str, Any] = documents.load_json(self.folder / agent_card.ENDPOINT_NAME)
        return found

    @property
    def digest(self) -> str:
        """Digest of the package: of its manifest, which names every file."""
        return digest(self.manifest)

    @property
    def name(self) -> str:
        """Agent and tag."""
        return f"{self.manifest['agent']}-{self.manifest['tag']}"


def release(build: Path, tag: str) -> Package:
    """Package the last agent of the trail in `build` as `releases/<agent>-<tag>/`, with a tar of it beside.

    UserError if its last iteration does not pass P-strict, where the agent is not the one that was judged, where a
    retune changed what callers rely on, and where the tag is taken by another content.
    """
    trail = trails.load(build)
    aud = auds.load_agent(trail.aud, servers(build / "contract" / TOOLS))
    check(trail, aud)
    files = _contents(build, trail, aud)
    manifest = _manifest(trail, aud, tag, files)
    documents.validate(documents.Document(manifest, Path(NAME)), "build/package")
    target = build / FOLDER / f"{manifest['agent']}-{tag}"
    if target.exists():
        there = load(target)
        if there.digest != digest(manifest):
            raise UserError(f"{target}: the tag {tag} names another content already; choose another tag")
        return there
    _check_same_endpoint(build, trail, files[agent_card.ENDPOINT_NAME])
    _write(target, files, manifest)
    write_bytes(target.with_name(f"{target.name}.tar"), archive(target))
    return load(target)


def check(trail: Trail, aud: Aud) -> None:
    """Raise UserError unless the last iteration passes P-strict and judged this very agent."""
    missed = trails.misses(trail.contract, trail.last)
    if missed:
        more = f" and {len(missed) - 3} more" if len(missed) > 3 else ""
        raise UserError(
            f"{trail.folder}: iteration {trail.last.number} does not pass P-strict ({'; '.join(missed[:3])}{more}); "
            "go on with the build"
        )
    if aud.digest != trail.last.aud:
        raise UserError(
            f"{aud.folder}: is not the agent that iteration {trail.last.number} judged; restore it, or go on with "
            "the build"
        )


def load(folder: Path) -> Package:
    """Read a package; UserError if it is not sound, or if a file is not what the manifest names."""
    path = folder / NAME
    manifest = documents.load_json(path)
    documents.validate(documents.Document(manifest, path), "build/package")
    there = {one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file() or one.is_symlink()}
    for name in sorted(there ^ {NAME, *manifest["files"]}):
        state = "is no part of the package" if name in there else "is missing"
        raise UserError(f"{folder / name}: {state}; take a whole copy of the package")
    for name, sha256 in manifest["files"].items():
        if (folder / name).is_symlink() or file_digest(folder / name) != sha256:
            raise UserError(f"{folder / name}: is not what {NAME} names; take a whole copy of the package")
    return Package(folder, manifest)


def servers(path: Path) -> Mapping[str, Any]:
    """Return the MCP servers of a tool inventory; none if there is no such file."""
    if not path.is_file():
        return {}
    document = documents.load_yaml(path)
    found: Mapping[str, Any] = document.data.get("servers", {}) if isinstance(document.data, Mapping) else {}
    documents.validate(documents.Document(found, path, document.lines), "build/package", "servers")
    return found


def archive(folder: Path) -> bytes:
    """Return a tar of the package: names in order, no times, owners or compression (whose bytes differ by version)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = tarfile.TarInfo(f"{folder.name}/{path.relative_to(folder).as_posix()}")
                entry.size, entry.mode = path.stat().st_size, 0o644
                with path.open("rb") as stream:
                    tar.addfile(entry, stream)
    return buffer.getvalue()


def _check_same_endpoint(build: Path, trail: Trail, stated: bytes) -> None:
    if trail.entries[-1].kind != "retune":
        return
    for path in sorted((build / FOLDER).glob(f"*/{agent_card.ENDPOINT_NAME}")):
        if path.read_bytes() != stated:
            raise UserError(
                f"{trail.aud}: its inputs, answer or card differ from those of {path.parent.name}; a retune changes "
                "what is inside and nothing that callers rely on"
            )


def _contents(build: Path, trail: Trail, aud: Aud) -> dict[str, bytes]:
    """Path in the package -> content. UserError for what looks like a key, and for too much."""
    files = {f"{AUD}/{name}": (aud.folder / name).read_bytes() for name in aud.files}
    if (build / MODELS).is_file():
        documents.validate(documents.load_yaml(build / MODELS), "models", "changes")
        files[MODELS] = (build / MODELS).read_bytes()
    if (build / "contract" / TOOLS).is_file():
        files[TOOLS] = (build / "contract" / TOOLS).read_bytes()
    files[agent_card.ENDPOINT_NAME] = agent_card.endpoint_bytes(aud, trail.content.agent, trail.content.about)
    redactor = Redactor()
    for name, content in files.items():
        text = content.decode(errors="replace")
        if redactor.text(text) != text:
            raise UserError(
                f"{aud.folder}: {name} holds what looks like a key; take it out, a package names handles only"
            )
    if sum(map(len, files.values())) > MOST_BYTES:
        raise UserError(f"{aud.folder}: is larger than {MOST_BYTES // 1_000_000} MB; an agent is text and small code")
    return files


def _manifest(trail: Trail, aud: Aud, tag: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    from hashlib import sha256

    entry = trail.entries[-1]
    contract = {
        "name": trail.contract.name,
        "version": trail.contract.version,
        "digest": trail.contract_digest,
    }
    named = {name: sha256(content).hexdigest() for name, content in sorted(files.items())}
    return {
        "agent": trail.content.agent,
        "tag": tag,
        "aud": aud.digest,
        "contract": contract,
        "proven_on": sorted(trail.last.active),
        "models": entry.models,
        "tools": entry.tools,
        "inventory": sorted(entry.inventory),
        "endpoint": named[agent_card.ENDPOINT_NAME],
        "trail": trail.digest,
        "files": named,
    }


def _write(target: Path, files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> None:
    """A folder that is whole or absent."""
    draft = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(draft, ignore_errors=True)
    for name, content in files.items():
        write_bytes(draft / name, content)
    write_json(draft / NAME, manifest)
    draft.replace(target)
