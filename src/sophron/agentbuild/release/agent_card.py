"""Agent card of a served agent, without version and address: its inputs, the schema of its answer.

The bytes of `endpoint.json` are the durable interface (AgentBuild, II-D): a model may be replaced and the agent tuned
again, and they stay the same.
"""

from collections.abc import Mapping
from typing import Any

from sophron.agentbuild.release.packaged_agent import Aud
from sophron.records.digests import canonical_bytes

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


def endpoint(aud: Aud, name: str, about: str) -> dict[str, Any]:
    """Return the endpoint's contract as plain data. name, about: of the agent, in the words of its contract."""
    inputs = {
        role: {
            "kind": entry["kind"],
            "about": entry["about"],
            "optional": entry.get("optional", False),
            "media_types": list(MODES[entry["kind"]]),
        }
        for role, entry in aud.asked.items()
    }
    schema = dict(aud.agent.schema)
    return {"card": _card(name, about, inputs), "inputs": inputs, "answer": schema}


def endpoint_bytes(aud: Aud, name: str, about: str) -> bytes:
    """Return the same as canonical JSON: what `endpoint.json` holds."""
    return canonical_bytes(endpoint(aud, name, about)) + b"\n"


def agent_card(stated: Mapping[str, Any], version: str, address: str) -> dict[str, Any]:
    """Return the agent card (A2A 1.0) of a served package. stated: `card` of the contract; address: of the server."""
    interfaces = [
        {"url": f"{address}{path}", "protocolBinding": binding, "protocolVersion": PROTOCOL}
        for binding, path in BINDINGS.items()
    ]
    return dict(stated) | {"version": version, "supportedInterfaces": interfaces}


def _card(name: str, about: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    modes = sorted({mode for entry in inputs.values() for mode in entry["media_types"]})
    typed = {"uri": EXTENSION, "description": "Parts name their input in metadata.role.", "params": {"inputs": inputs}}
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
