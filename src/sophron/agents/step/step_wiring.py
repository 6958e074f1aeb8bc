"""Who answers an agent step: the gateway with models, budget and audit; tools; and whether models can be asked here."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sophron.agents.documents.answers import AgentError
from sophron.agents.documents.redact import Redactor
from sophron.agents.gateway.audit import Audit
from sophron.agents.gateway.gateway import REGISTRY, Catalogue, Gateway, load_catalogue
from sophron.agents.gateway.ledger import Cap, Caps, Ledger
from sophron.agents.step import agent_step
from sophron.agents.step.agent_step import AgentStep, Ask
from sophron.campaign.execution import outcome_store
from sophron.campaign.planning import campaign_agents
from sophron.campaign.planning.campaign_agents import PLANNED, RANKED, AgentFile, chosen
from sophron.campaign.spec.spec import SPEC_NAME, Spec, load
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Model
from sophron.records import documents, entry_points
from sophron.records.errors import UserError

if TYPE_CHECKING:
    from sophron.agents.tools.literature_web import Web
    from sophron.agents.tools.mcp_client import Server
    from sophron.agents.tools.toolbox import Toolbox


REPLAY = "replay"
OVERRIDES = ("heuristic", "mailbox", REPLAY)
AWAITED = ("mailbox", REPLAY)
"""Backends whose answer is there later, or has to be."""
SKILL_TOOL = "read_skill"
WEB_TOOL = "literature_web"
"""Name of the tool that searches the web, which costs too much to import in each step."""


def allowed_override(backend: str | None) -> str | None:
    """Return a backend from the command line; UserError for one that would ask another model than the signed one."""
    if backend and backend not in OVERRIDES:
        raise UserError(
            f"--agents {backend}: only {', '.join(OVERRIDES)} may stand in for the signed model; "
            "name another one in campaign.yaml, under agents, and sign it"
        )
    return backend or None


def dispensable(rule: str, agent: str, spec: JsonObject, override: str | None) -> bool:
    """Return if what builds on a rule does without its answer: the report, unless a person or replay is to give it."""
    return rule in PLANNED and (override or chosen(spec, agent)["backend"]) not in AWAITED


def gateway(work: AgentStep, envelope: JsonObject, spec: JsonObject, override: str | None = None) -> Ask:
    """Return the function that asks for a step: the signed backend and model, or the one that stands in for them."""
    who, front = chosen(spec, work.agent.name), work.agent.front
    until = time.monotonic() + front["limits"]["seconds"]

    @cache
    def models() -> Gateway:  # a step whose answer is kept asks nobody
        catalogue = load_catalogue(work.root)
        redactor = Redactor(names=[model.key_env for model in catalogue.models if model.key_env])
        caps = Caps(Cap.of_limits(front["limits"]), Cap.of_envelope(envelope))
        return Gateway(
            catalogue,
            Ledger(work.root, caps),
            Audit(work.root, redactor),
            backend=override or (None if who["backend"] == RANKED else who["backend"]),
            model=None if override else who.get("model"),
        )

    rank = who.get("rank", front["rank"])
    return lambda request: models().ask(request, rank=rank, role=front["role"], until=until)


def run_step(work: AgentStep, envelope: JsonObject, spec: JsonObject, override: str | None = None) -> None:
    """Run a step with its models and its tools. A replay is asked even if an answer is kept. Raises AgentError."""
    ask = gateway(work, envelope, spec, override)
    with toolbox(work, chosen(spec, work.agent.name).get("grants", {})) as tools:
        finish = tools.finish if tools else lambda: None
        agent_step.run(work, ask, tools=tools, again=override == REPLAY, finish=finish)


@contextmanager
def toolbox(work: AgentStep, given: JsonObject | None = None) -> "Iterator[Toolbox | None]":
    """Start the tools of a step, in its own scratch folder and sandbox; None if its agent has none.

    given: what the campaign grants to the agent's own servers, folders and variables, signed with its spec.
    """
    names = allowed_tools(work.agent, work.inputs)
    if not names:
        yield None
        return
    from sophron.agents.tools.toolbox import WITHOUT_PROGRAMS, Toolbox
    from sophron.sandbox import grants, select_backend

    scratch = work.scratch
    scratch.mkdir(parents=True, exist_ok=True)
    grant = grants.grant(work.agent.front.get("grants", {}), scratch, root=work.root)
    servers = {name: _server(work, about, given or {}) for name, about in work.agent.front.get("servers", {}).items()}
    sandbox = select_backend.unchecked() if WITHOUT_PROGRAMS.issuperset(names) else select_backend.choose()
    with TemporaryDirectory(prefix="sophron-skills-") as folder:
        for skill in work.agent.on_demand:
            skill.write(Path(folder) / skill.name)
        shelf = Path(folder) if work.agent.on_demand else None
        with Toolbox(
            scratch,
            work.files,
            sandbox,
            names,
            grant=grant,
            servers=servers,
            web=work.web,
            skills=work.agent.on_demand,
            skill_folder=shelf,
        ) as box:
            yield box


def web(root: Path, step: str, agent: AgentFile, spec: JsonObject, override: str | None = None) -> "Web | None":
    """Return the web searches of one step, after its approval was checked; None if its agent has no tool for them.

    UserError if its grants, which are signed with it, do not name the host that would be asked. A replay asks none.
    """
    if WEB_TOOL not in agent.front["tools"]:
        return None
    from sophron.agents.gateway.backends import replay
    from sophron.agents.tools import literature_web

    record = outcome_store.record_folder(root, step) / literature_web.NAME
    if (override or chosen(spec, agent.name)["backend"]) == REPLAY:
        source = replay.source_of(root, load_catalogue(root).get(REPLAY))
        return literature_web.Web(
            record, None, replayed=outcome_store.record_folder(source, step) / literature_web.NAME
        )
    if lacking := missing_host_grant(agent):
        raise UserError(lacking)
    return literature_web.Web(record, literature_web.service())


def missing_host_grant(agent: AgentFile) -> str | None:
    """Return one sentence if a tool of an agent asks a host that its grants do not name; None if none does."""
    if WEB_TOOL not in agent.front["tools"]:
        return None
    from sophron.agents.tools import literature_web

    host = literature_web.service().host
    if host in agent.front.get("grants", {}).get("hosts", []):
        return None
    return (
        f"{agent.path}: grants.hosts does not name {host}, which the tool {WEB_TOOL} asks; add it and "
        "sign, or take the tool out"
    )


def allowed_tools(agent: AgentFile, inputs: JsonObject) -> list[str]:
    """Return the tools of a definition, narrowed to those that the input `wired_by` names; others are refused.

    An agent that is told of skills has the tool that reads them too.
    """
    allowed: list[str] = list(agent.front.get("tools", []))
    reads = [SKILL_TOOL] if agent.on_demand and SKILL_TOOL not in allowed else []
    if "wired_by" not in agent.front:
        return [*allowed, *reads]
    names = inputs[agent.front["wired_by"]]["tools"]
    return [*(name for name in names if any(fnmatchcase(name, pattern) for pattern in allowed)), *reads]


def _server(work: AgentStep, about: JsonObject, given: JsonObject) -> "Server":
    from sophron.agents.tools.mcp_client import Server
    from sophron.sandbox import mounts

    root, seconds = work.root, work.agent.front["limits"]["seconds"]
    hidden: tuple[Path, ...] = ()
    folders, env = [root / path for path in about.get("mounts", [])], {}
    files = {f"{{{role}}}": str(path.absolute()) for role, path in work.files.items()}
    # It runs in its scratch folder: a word that names a file of the campaign is that file.
    command = [str(root / word) if (root / word).is_file() else word for word in about.get("command", [])]
    command = [files.get(word, word) for word in command]
    if command[:1] == [mounts.SELF]:
        command = [*mounts.SELF_COMMAND, *command[1:]]
        hidden = mounts.SELF_HIDDEN
        folders = [*folders, *mounts.self_folders(), *map(Path, given.get("mounts", []))]
        env = {**mounts.self_environment(), **given.get("variables", {})}
    # The step's own time bounds its server too: one answer may be a long computation.
    times = {"timeout_s": seconds, "wall_s": seconds}
    return Server(command=command, url=about.get("url", ""), read_only=folders, hidden=hidden, env=env, **times)


def candidates(catalogue: Catalogue, agent: AgentFile, who: JsonObject) -> list[Model]:
    """Return the models that may answer for an agent, in the order of trial. who: its entry of the spec."""
    if "model" in who:
        return [catalogue.get(who["model"])]
    rank = who.get("rank", agent.front["rank"])
    return catalogue.candidates(rank, agent.front["role"], None if who["backend"] == RANKED else who["backend"])


def why_unavailable(root: Path | None, agent: AgentFile, who: JsonObject) -> str | None:
    """Return what lacks for an agent to be asked, one sentence; None if it can be."""
    from sophron.records import entry_points

    if lacking := missing_host_grant(agent):
        return lacking
    models = candidates(load_catalogue(root or Path()), agent, who)
    if not models:
        rank = who.get("rank", agent.front["rank"])
        return f"config/models.yaml has no model of the backend {who['backend']} of rank {rank}; add one"
    faults = [entry_points.load(REGISTRY, model.provider)().missing(model) for model in models]
    return None if None in faults else "; ".join(fault for fault in faults if fault)


NO_ENVELOPE = {"model_calls": None, "tokens": None, "dollars": None}


def unapproved_models(root: Path, override: str | None) -> tuple[JsonObject, str | None]:
    """Return what the campaign says of its agents, and who stands in for them; UserError for an unknown backend."""
    data = dict(documents.load_yaml(root / SPEC_NAME).data) if (root / SPEC_NAME).is_file() else {}
    if not override or override in OVERRIDES:
        return data, override or None
    known = [*entry_points.names(REGISTRY), campaign_agents.RANKED]
    if override not in known:
        raise UserError(f"--agents {override}: is no backend; known are {', '.join(known)}")
    return {**data, "agents": {"backend": override}}, None


def run_unapproved(
    root: Path, name: str, inputs: JsonObject, *, step_name: str, answer: Path, override: str | None
) -> None:
    """Run one step of the agent `name`, without an approval. Raises UserError if it gives no answer.

    override: any backend, as nothing is signed yet: the cap of a day bounds what it costs.
    """
    data, backend = unapproved_models(root, override)
    agent = campaign_agents.find_agent(root, name)
    digest = agent.digest(campaign_agents.chosen(data, name))
    work = agent_step.AgentStep(root, step_name, agent, digest, inputs, answer)
    try:
        run_step(work, NO_ENVELOPE, data, backend)
    except AgentError as failure:
        raise UserError(f"{step_name}: {failure.reason} ({failure.kind})") from None


CONNECT_S = 3.0
BACKEND_VARIABLE = "SOPHRON_AGENTS"
"""Who answers for all agents of this process: heuristic, mailbox or replay."""


def require_models(root: Path) -> None:
    """Check what a workflow needs to start. UserError names the missing variable, or an address that nobody serves."""
    if os.environ.get(BACKEND_VARIABLE):
        return
    faults = lacking_models(root, load(root / SPEC_NAME))
    if faults:
        raise UserError(f"{'; '.join(faults)}; or let rules of thumb answer: {BACKEND_VARIABLE}=heuristic")


def lacking_models(root: Path, spec: Spec) -> list[str]:
    """Return one sentence for each thing that agents of this campaign lack here; none if all can be asked."""
    rules = [*campaign_agents.planned_rules(spec), *campaign_agents.TEMPLATES, *spec.agent_rules]
    names = {agent for rule in rules for agent in campaign_agents.agents_of(spec, rule)}
    about: dict[str, list[str]] = {}  # what lacks -> the models that lack it
    for sentence in dict.fromkeys(_lacks(root, spec, sorted(names))):
        handle, _, lack = sentence.partition(": ")
        about.setdefault(lack, []).append(handle)
    return [f"{', '.join(handles)}: {lack}" for lack, handles in about.items()]


def _lacks(root: Path, spec: Spec, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        who = campaign_agents.chosen(spec.data, name)
        if who["backend"] in (campaign_agents.DEFAULT_BACKEND, *AWAITED):
            continue
        agent = campaign_agents.find_agent(root, name)
        missing = why_unavailable(root, agent, who)
        if missing is None:
            faults = [unreachable(model) for model in candidates(load_catalogue(root), agent, who)]
            missing = None if None in faults else "; ".join(str(one) for one in faults)
        if missing is not None:
            yield missing


def unreachable(model: Model) -> str | None:
    """Return one sentence if the address in the environment takes no connection; not looked at behind a proxy."""
    import socket
    from urllib.parse import urlsplit
    from urllib.request import getproxies

    url = os.environ.get(model.base_url_env, "").strip() if model.base_url_env else ""
    if not url or getproxies().keys() & {urlsplit(url).scheme, "all"}:
        return None
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    with suppress(OSError), socket.create_connection((str(parts.hostname), port), CONNECT_S):
        return None
    return f"{model.handle}: nothing answers at {parts.hostname}, the address in {model.base_url_env}; correct it"
