"""What the evolve agent is told: what agents took, what went wrong, what is remembered, what may change."""

from collections.abc import Iterator
from pathlib import Path

from sophron.agents.gateway import audit, ledger
from sophron.agents.gateway.gateway import load_catalogue
from sophron.agents.memory.agent_memory import History
from sophron.agents.step import conversation
from sophron.agents.step.step_wiring import AWAITED
from sophron.campaign.planning import campaign_agents
from sophron.interfaces import JsonObject
from sophron.records import SPEC_NAME, events
from sophron.records.documents import load_yaml
from sophron.records.errors import UserError
from sophron.records.files import read_json_lines, read_text, user_state
from sophron.records.typed_json import to_json

MEMORY = Path("records", "memory")
TROUBLE = ("agent_failed", "reasked", "refused", "suspicious_text", "overlay", "run_error", "verdict", "drafted")
NOT_TOLD = {"time", "actor", "pid", "host", "pid_start", "log", "digest"}
"""Of an event: it says nothing of a cause, or of this machine alone."""
MOST_EVENTS, MOST_REPAIRS, LONGEST_ANSWER = 300, 30, 1500
MODELS = Path("config", "models.yaml")
HISTORY = ".history.jsonl"


def inputs(root: Path) -> JsonObject:
    """Return the inputs by role. UserError if no agent has answered in the campaign yet."""
    happened = _events(root)
    asked = [one for one in happened if one["event"] in ("agent_asked", "agent_answered", "agent_failed")]
    if not asked:
        raise UserError(
            f"{root}: no agent was asked in this campaign yet; run it first, so that there is something to learn from"
        )
    names = sorted({one["agent"] for one in asked} & set(campaign_agents.agent_names(root)))
    return {
        "usage": [_usage(root, name, asked) for name in names],
        "models": _models(root),
        "repairs": list(_repairs(root))[-MOST_REPAIRS:],
        "events": [one for one in happened if _is_trouble(one)][-MOST_EVENTS:],
        "memory": _memory(root),
        "history": dict(_history(root)),
        "files": dict(_files(root, names)),
    }


def _events(root: Path) -> list[JsonObject]:
    """All events without times and places, oldest first."""
    return [
        {key: value for key, value in record.items() if key not in NOT_TOLD and value not in (None, "", {}, [])}
        for record in read_json_lines(root / events.FILE)[0]
    ]


def _models(root: Path) -> list[JsonObject]:
    """Return the models that may answer, with rank and price; those that stand in for a model are left out."""
    return [
        {"model": one.handle, "rank": one.rank, "price_in": one.price_in, "price_out": one.price_out}
        for one in load_catalogue(root).models
        if one.handle not in (campaign_agents.DEFAULT_BACKEND, *AWAITED)
    ]


def _repairs(root: Path) -> Iterator[JsonObject]:
    """Yield each answer that was sent back, and why, out of the audits."""
    for path in sorted((root / "records").rglob(audit.NAME)):
        for line in audit.answers(path):
            messages = line.request["messages"]
            said = messages[-1]["parts"][-1].get("text", "") if len(messages) > 1 else ""
            if said.startswith(conversation.REFUSED):
                first = "".join(part.get("text", "") for part in messages[-2]["parts"])
                about = {"step": line.request["step"], "agent": line.request["agent"]}
                yield about | {"answer": first[:LONGEST_ANSWER], "refused": said.removeprefix(conversation.REFUSED)}


def _is_trouble(event: JsonObject) -> bool:
    if event["event"] == "agent_answered":
        return bool(event["calls"] > 1)
    return event["event"] in TROUBLE and event.get("verdict") != "pass"


def _usage(root: Path, name: str, asked: list[JsonObject]) -> JsonObject:
    """What an agent took in all its steps; `usual` and `rank` are its definition's."""
    steps = {one["step"] for one in asked if one["agent"] == name}
    took = ledger.spent_by_step(root)
    sums = {kind: round(sum(took[step][kind] for step in steps if step in took), 4) for kind in ledger.KINDS}
    answered = [one for one in asked if one["agent"] == name and one["event"] == "agent_answered"]
    front = campaign_agents.find_agent(root, name).front
    spec = load_yaml(root / SPEC_NAME).data
    return {
        "agent": name,
        "rank": front["rank"],
        "skills": [*front.get("skills", []), *campaign_agents.chosen(spec, name).get("skills", [])],
        "models": sorted({f"{one['backend']}: {one['model']}" for one in answered}),
        "steps": len(steps),
        "answered": len(answered),
        "failed": sum(one["agent"] == name and one["event"] == "agent_failed" for one in asked),
        "took": sums,
        "usual_of_one_step": front.get("usual", front["limits"]),
    }


def _memory(root: Path) -> str:
    """Memory of stages, tasks, campaign and user, without times."""
    living = {str(path.relative_to(root / MEMORY)): path for path in sorted((root / MEMORY).rglob("*.md"))}
    living["the user's campaigns"] = user_state() / "memory.md"
    texts = [f"# {name}\n\n{read_text(path).strip()}" for name, path in living.items() if path.is_file()]
    return "\n\n".join(texts) or "(nothing yet)"


def _history(root: Path) -> Iterator[tuple[str, list[JsonObject]]]:
    for path in sorted((root / MEMORY).rglob(f"*{HISTORY}")):
        records = to_json(History(path).read())
        yield (
            path.name.removesuffix(HISTORY),
            [{key: value for key, value in record.items() if key != "time"} for record in records],
        )


def _files(root: Path, names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what may change: definitions of the agents that were asked, the campaign's skills and its ranks."""
    for name in names:
        agent = campaign_agents.find_agent(root, name)
        inside = Path(campaign_agents.FOLDER)
        if agent.path.parent.name == campaign_agents.EXPERTS:
            inside /= campaign_agents.EXPERTS
        yield str(inside / agent.path.name), read_text(agent.path)
    for path in sorted((root / campaign_agents.FOLDER / campaign_agents.SKILLS).rglob("*.md")):
        yield str(path.relative_to(root)), read_text(path)
    if (root / MODELS).is_file():
        yield str(MODELS), read_text(root / MODELS)
