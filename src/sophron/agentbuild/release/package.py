"""The package of a built agent: the agent, its endpoint's contract with the agent card, and the files as released.

It is made on P-strict and a release tag, the same bytes for the same content. `recipe.yaml` (the consumer knowledge
base) is given to the agent as the input `recipe`, if it asks for one; `schemas/` holds the schema of its answer, if no
installed one fits (AgentBuild, table III). `endpoint.json` is what callers rely on; a retune must not change it.
"""

import io
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sophron.agentbuild import aud as folders
from sophron.agentbuild.aud import DEFINITION, HELPERS, RECIPE, WIRING
from sophron.agentbuild.release import trail as trails
from sophron.agentbuild.release.message_inputs import Asked, AskedInput
from sophron.agentbuild.release.trail import Trail
from sophron.agentbuild.tool_server import ADAPTER, ENGINE, PLOTTING
from sophron.agents.documents.redact import Redactor
from sophron.campaign.planning.campaign_agents import AgentFile
from sophron.interfaces import JsonObject
from sophron.records import documents
from sophron.records.digests import canonical_bytes, digest, file_digest
from sophron.records.errors import UserError
from sophron.records.files import write_bytes, write_json
from sophron.records.typed_json import from_json, to_json

PROVIDED, ITSELF = "recipe", "agent"
"""Inputs that its own files fill, all of them the second one; callers of a served agent cannot."""
FOLDERS = (HELPERS, "schemas", ADAPTER, PLOTTING, ENGINE)


@dataclass(frozen=True)
class Aud:
    """One agent under development, read and checked. agent: its definition, with the tools that it is wired to."""

    folder: Path
    agent: AgentFile

    @cached_property
    def files(self) -> dict[str, str]:
        """Relative path -> sha256, sorted."""
        return {name: file_digest(path) for name, path in _listed(self.folder).items()}

    @property
    def digest(self) -> str:
        """Digest over names and content of all of its files."""
        return digest(self.files)

    @property
    def provided(self) -> dict[str, Any]:
        """Inputs that come from its own files, by role."""
        if PROVIDED not in self.agent.front["inputs"]:
            return {}
        return {PROVIDED: documents.load_yaml(self.folder / RECIPE).data}

    @property
    def asked(self) -> dict[str, Mapping[str, Any]]:
        """Inputs that its callers give: role -> its entry in the definition."""
        return {role: about for role, about in self.agent.front["inputs"].items() if role not in (PROVIDED, ITSELF)}


def load_agent(folder: Path, servers: Mapping[str, Any]) -> Aud:
    """Read an agent's folder. servers: MCP servers of the contract's inventory, by name.

    UserError for a missing or faulty definition, for a tool of a server that the inventory lacks, and for what cannot
    be part of an agent.
    """
    agent = folders.definition(folder, servers)
    if PROVIDED in agent.front["inputs"] and not (folder / RECIPE).is_file():
        raise UserError(f"{folder / RECIPE}: is missing, and {DEFINITION} has the input {PROVIDED}; add the file")
    return Aud(folder, agent)


def _listed(folder: Path) -> dict[str, Path]:
    """Its files by name. UserError for anything that has no place in an agent."""
    allowed = (DEFINITION, RECIPE, WIRING)
    found = folders.files(folder)
    for name, path in found.items():
        if name not in allowed and name.partition("/")[0] not in FOLDERS:
            raise UserError(f"{path}: has no place in an agent; known are {', '.join([*allowed, *FOLDERS])}")
    return found


ENDPOINT_NAME = "endpoint.json"
PROTOCOL = "1.0"
SCHEME = "bearer"
ANSWER_MODE = "application/json"
BINDINGS = {"JSONRPC": "/rpc", "HTTP+JSON": "/v1"}
"""Binding of the protocol -> path below the address of the server."""
MODES = {
    "json": ("application/json",),
    "text": ("text/plain", "application/octet-stream", "chemical/x-cif"),
    "image": ("image/png", "image/jpeg", "image/webp"),
    "file": ("application/octet-stream", "text/plain", "chemical/x-cif", "application/json"),
    "folder": ("application/octet-stream", "text/plain", "chemical/x-cif", "application/json"),
}
"""Kind of an input -> media types in which it is taken."""
EXTENSION = "urn:sophron:typed-inputs:1"


@dataclass(frozen=True)
class Endpoint:
    """What callers rely on, `endpoint.json`. card: without version and addresses; answer: schema of the answer."""

    card: JsonObject
    inputs: Asked
    answer: JsonObject


def endpoint(aud: Aud, name: str, about: str) -> Endpoint:
    """Return the endpoint's contract. name, about: of the agent, in the words of its contract."""
    inputs = {
        role: AskedInput(entry["kind"], entry.get("optional", False), MODES[entry["kind"]], entry["about"])
        for role, entry in aud.asked.items()
    }
    return Endpoint(_card(name, about, inputs), inputs, dict(aud.agent.schema))


def endpoint_bytes(aud: Aud, name: str, about: str) -> bytes:
    """Return the same as canonical JSON: what `endpoint.json` holds."""
    return canonical_bytes(to_json(endpoint(aud, name, about))) + b"\n"


def agent_card(stated: JsonObject, version: str, address: str) -> dict[str, Any]:
    """Return the agent card (A2A 1.0) of a served package. stated: `card` of the contract; address: of the server."""
    interfaces = [
        {"url": f"{address}{path}", "protocolBinding": binding, "protocolVersion": PROTOCOL}
        for binding, path in BINDINGS.items()
    ]
    return dict(stated) | {"version": version, "supportedInterfaces": interfaces}


def _card(name: str, about: str, inputs: Asked) -> dict[str, Any]:
    modes = sorted({mode for entry in inputs.values() for mode in entry.media_types})
    typed = {
        "uri": EXTENSION,
        "description": "Parts name their input in metadata.role.",
        "params": {"inputs": to_json(inputs)},
    }
    skill = {"id": name, "name": name, "description": about, "tags": ["sophron"]}
    return {
        "name": name,
        "description": about,
        "capabilities": {"streaming": True, "pushNotifications": False, "extensions": [typed]},
        "securitySchemes": {SCHEME: {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {SCHEME: {"list": []}}}],
        "defaultInputModes": modes,
        "defaultOutputModes": [ANSWER_MODE],
        "skills": [skill],
    }


NAME = "package.json"
FOLDER = "releases"
AUD, MODELS, TOOLS = "aud", "config/models.yaml", "tools.yaml"
MOST_BYTES = 50_000_000


@dataclass(frozen=True)
class ProvenContract:
    """The contract that an agent was built from, by name, version and digest over its files."""

    name: str
    version: str
    digest: str


@dataclass(frozen=True)
class Manifest:
    """Content of `package.json`. aud, endpoint, trail: digests; proven_on: cases; files: path -> sha256.

    models: part of the build -> who answered; tools: program -> version; inventory: tools that the agent may call.
    """

    agent: str
    tag: str
    aud: str
    contract: ProvenContract
    proven_on: tuple[str, ...]
    models: Mapping[str, JsonObject]
    tools: Mapping[str, str]
    inventory: tuple[str, ...]
    endpoint: str
    trail: str
    files: Mapping[str, str]


@dataclass(frozen=True)
class Package:
    """A released agent, read and checked."""

    folder: Path
    manifest: Manifest

    @cached_property
    def aud(self) -> Aud:
        """The agent in it."""
        return load_agent(self.folder / AUD, servers(self.folder / TOOLS))

    @cached_property
    def endpoint(self) -> Endpoint:
        """What its callers rely on."""
        return from_json(Endpoint, documents.load_json(self.folder / ENDPOINT_NAME))

    @property
    def name(self) -> str:
        """Agent and tag."""
        return f"{self.manifest.agent}-{self.manifest.tag}"

    @property
    def digest(self) -> str:
        """Digest of the package: of its manifest, which names every file."""
        return digest(to_json(self.manifest))


def release(build: Path, tag: str) -> Package:
    """Package the last agent of the trail in `build` as `releases/<agent>-<tag>/`, with a tar of it beside.

    UserError if its last iteration does not pass P-strict, where the agent is not the one that was judged, where a
    retune changed what callers rely on, and where the tag is taken by another content.
    """
    trail = trails.load(build)
    aud = load_agent(trail.aud, servers(build / "contract" / TOOLS))
    check(trail, aud)
    files = _contents(build, trail, aud)
    manifest = _manifest(trail, aud, tag, files)
    documents.validate(documents.Document(to_json(manifest), Path(NAME)), "build/package")
    target = build / FOLDER / f"{manifest.agent}-{tag}"
    if target.exists():
        there = load(target)
        if there.manifest != manifest:
            raise UserError(f"{target}: the tag {tag} names another content already; choose another tag")
        return there
    _check_same_endpoint(build, trail, files[ENDPOINT_NAME])
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
    data = documents.load_json(path)
    documents.validate(documents.Document(data, path), "build/package")
    manifest = from_json(Manifest, data)
    there = {one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file() or one.is_symlink()}
    for name in sorted(there ^ {NAME, *manifest.files}):
        state = "is no part of the package" if name in there else "is missing"
        raise UserError(f"{folder / name}: {state}; take a whole copy of the package")
    for name, sha256 in manifest.files.items():
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
    for path in sorted((build / FOLDER).glob(f"*/{ENDPOINT_NAME}")):
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
    files[ENDPOINT_NAME] = endpoint_bytes(aud, trail.content.agent, trail.content.about)
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


def _manifest(trail: Trail, aud: Aud, tag: str, files: Mapping[str, bytes]) -> Manifest:
    from hashlib import sha256

    entry = trail.entries[-1]
    named = {name: sha256(content).hexdigest() for name, content in sorted(files.items())}
    return Manifest(
        agent=trail.content.agent,
        tag=tag,
        aud=aud.digest,
        contract=ProvenContract(trail.contract.name, trail.contract.version, trail.contract_digest),
        proven_on=tuple(sorted(trail.last.active)),
        models=entry.models,
        tools=entry.tools,
        inventory=tuple(sorted(entry.inventory)),
        endpoint=named[ENDPOINT_NAME],
        trail=trail.digest,
        files=named,
    )


def _write(target: Path, files: Mapping[str, bytes], manifest: Manifest) -> None:
    """A folder that is whole or absent."""
    draft = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(draft, ignore_errors=True)
    for name, content in files.items():
        write_bytes(draft / name, content)
    write_json(draft / NAME, to_json(manifest))
    draft.replace(target)
