"""Whether the models of a campaign can be asked from here: looked at before the first compute step.

Keys and packages as the backends look for them; an address that the environment names must take a connection. The
public services are not called.
"""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from sophron.agents.gateway import model_catalogue
from sophron.agents.step import step_wiring
from sophron.campaign.planning import agent_definitions, agent_rules
from sophron.campaign.spec.spec import SPEC_NAME, Spec, load
from sophron.interfaces.model_backend import Model
from sophron.records.errors import UserError

CONNECT_S = 3.0
VARIABLE = "SOPHRON_AGENTS"
"""Who answers for all agents of this process: heuristic, mailbox or replay."""


def require(root: Path) -> None:
    """What a workflow needs to start. UserError names the variable that lacks, or the address that nobody serves."""
    if os.environ.get(VARIABLE):
        return
    found = lacking(root, load(root / SPEC_NAME))
    if found:
        raise UserError(f"{'; '.join(found)}; or let rules of thumb answer: {VARIABLE}=heuristic")


def lacking(root: Path, spec: Spec) -> list[str]:
    """One sentence for each thing that agents of this campaign lack here; none if all can be asked."""
    rules = [*agent_rules.planned(spec), *agent_rules.TEMPLATES, *spec.agent_rules]
    names = {agent for rule in rules for agent in agent_rules.agents_of(spec, rule)}
    about: dict[str, list[str]] = {}  # what lacks -> the models that lack it
    for sentence in dict.fromkeys(_lacking(root, spec, sorted(names))):
        handle, _, lack = sentence.partition(": ")
        about.setdefault(lack, []).append(handle)
    return [f"{', '.join(handles)}: {lack}" for lack, handles in about.items()]


def _lacking(root: Path, spec: Spec, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        who = agent_definitions.chosen(spec.data, name)
        if who["backend"] in (agent_definitions.DEFAULT_BACKEND, *step_wiring.AWAITED):
            continue
        agent = agent_definitions.find(root, name)
        missing = step_wiring.why_unavailable(root, agent, who)
        if missing is None:
            found = [unreachable(model) for model in step_wiring.candidates(model_catalogue.load(root), agent, who)]
            missing = None if None in found else "; ".join(str(one) for one in found)
        if missing is not None:
            yield missing


def unreachable(model: Model) -> str | None:
    """One sentence if the address that the environment gives takes no connection; not looked at behind a proxy."""
    url = os.environ.get(model.base_url_env, "").strip() if model.base_url_env else ""
    if not url or getproxies().keys() & {urlsplit(url).scheme, "all"}:
        return None
    parts = urlsplit(url)
    with suppress(OSError), socket.create_connection(_place(url), CONNECT_S):
        return None
    return f"{model.handle}: nothing answers at {parts.hostname}, the address in {model.base_url_env}; correct it"


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return str(parts.hostname), parts.port or (443 if parts.scheme == "https" else 80)
