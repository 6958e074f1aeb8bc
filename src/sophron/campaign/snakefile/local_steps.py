"""The fork server of a local run: what it imports, and its start beside Snakemake's own."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from sophron.campaign.planning.campaign_agents import DEFAULT_BACKEND
from sophron.campaign.spec.spec import Spec
from sophron.interfaces import JsonObject
from sophron.records import entry_points
from sophron.records.documents import load_yaml, validate
from sophron.records.files import resource
from sophron.warm_workers import fork_server
from sophron.warm_workers.fork_client import VARIABLE
from sophron.warm_workers.fork_server import Early

MODELS = ("config", "models.yaml")
SAFE_PATH = {"PYTHONSAFEPATH": "1"}


def start(root: Path, spec: Spec, workflow: Any) -> None:
    """Let the steps of a local run be forked from a process that has imported what they do."""
    if workflow is None or workflow.executor_plugin.name != "local":
        fork_server.decline()
    else:
        fork_server.start(root, _modules(spec.data))


def early(root: Path, spec: Spec, environment: Mapping[str, str]) -> AbstractContextManager[Early | None]:
    """Return the fork server of a driver that is about to be started in this environment, of a local run."""
    if environment.get(VARIABLE) == "off":
        return nullcontext()
    keys = key_variables(root)
    kept = {name: value for name, value in environment.items() if name not in keys}
    return fork_server.early(root, _modules(spec.data), kept | job_variables(root, spec, root / "Snakefile"))


def job_variables(root: Path, spec: Spec, snakefile: Path) -> dict[str, str]:
    """Return what keeps the Python of jobs from importing from the campaign; a host's scripts may do as they like."""
    return SAFE_PATH if snakefile.parent == root and spec.host is None else {}


def _modules(data: JsonObject) -> list[str]:
    """Modules of the campaign's kind, of the models that its agents ask, and of engines."""
    agents = data.get("agents", {})
    backends = {block.get("backend", DEFAULT_BACKEND) for block in (agents, *agents.get("by_name", {}).values())}
    known = [("sophron.kinds", data["kind"]), *(("sophron.models", name) for name in sorted(backends))]
    known += [("sophron.engines", name) for name in entry_points.names("sophron.engines")]
    return [module for group, name in known if (module := entry_points.module(group, name))]


def key_variables(root: Path) -> list[str]:
    """Return the names of the variables from which the models of a campaign take their keys."""
    found = []
    # A campaign's own file may hold single keys of an entry.
    for path, pointer in ((resource(*MODELS), ""), (root.joinpath(*MODELS), "changes")):
        if path.is_file():
            document = load_yaml(path)
            validate(document, "models", pointer)
            found += [entry["key_env"] for entry in document.data["models"].values() if entry.get("key_env")]
    return found
