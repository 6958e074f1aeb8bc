"""Answers that were given from a request alone, put back through parsing, schema and guardrails as they stand.

`tests/recorded/README.md` says what the files hold and how a trial is made.
"""

import inspect
import json
from pathlib import Path

import pytest

from sophron.agents.documents.answers import AgentError, parsed
from sophron.agents.documents.model_request import request
from sophron.agents.step import conversation
from sophron.agents.step.agent_step import AgentStep, faults
from sophron.campaign.planning import campaign_agents
from sophron.interfaces.model_backend import Response, Text, Usage
from sophron.records.errors import UserError
from sophron.science.rietveld.session.tools import TOOLS

FOLDER = Path(__file__).parents[1] / "recorded"
ANSWERS = sorted(FOLDER.glob("*/*.json"))
CALLS = sorted(FOLDER.glob("*/calls/*.json"))
FILES = ANSWERS + CALLS
AGENTS = sorted({path.relative_to(FOLDER).parts[0] for path in FILES})
MOST_BYTES = 2_000_000


def exchange(path):
    return json.loads(path.read_text(encoding="utf-8"))


def changed(agent, exchanges):
    """Return what to say if the agent is not the one that was tried; None if it is."""
    now = campaign_agents.find_agent(None, agent).digest({})
    if any(one["agent_digest"] == now for one in exchanges):
        return None
    newest = max(one["date"] for one in exchanges)
    return f"changed prompt needs new trials: {agent} is not as it was on {newest}; see tests/recorded/README.md"


def replayed(recorded):
    """Return how the conversation of a recorded exchange ends: its calls and answer, or why there is none."""
    agent = campaign_agents.find_agent(None, recorded["agent"])
    step = AgentStep(Path(), recorded["step"], agent, "", recorded["inputs"], Path())
    texts = iter(recorded["answers"])
    absent: dict = {role: {} for role in recorded["left_out"]}
    try:
        answered = conversation.converse(
            request(agent, step.step, recorded["inputs"] | absent),
            lambda _: Response((Text(next(texts)),), "end", Usage(), "recorded", "recorded"),
            lambda answer: faults(step, answer),
            most_calls=len(recorded["answers"]),
        )
    except AgentError as failure:
        return failure.reason, None
    return answered.calls, answered.answer


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_answer_from_the_request_alone_is_taken_as_it_was(path):
    recorded = exchange(path)
    assert recorded["provenance"] == "a capable model, answering from the request alone"
    known = changed(recorded["agent"], [recorded])
    try:
        calls, answer = replayed(recorded)
    except (UserError, KeyError) as error:  # its inputs have other names now
        if known is None:
            raise
        pytest.xfail(f"{known}; {error}")
    if answer is None and known:
        pytest.xfail(f"{known}; the recorded answer is refused now: {calls}")
    assert calls == len(recorded["answers"]), f"{calls}: the agent is the one that was tried, so a check has changed"
    assert answer == parsed(recorded["answers"][-1])[0]


@pytest.mark.parametrize("path", CALLS, ids=lambda path: path.stem)
def test_calls_in_the_middle_of_a_refinement_are_calls_of_its_tools(path):
    (answer,) = exchange(path)["answers"]
    calls = [block for block in json.loads(answer)["content"] if block["type"] == "tool_use"]
    assert calls
    for call in calls:
        inspect.signature(TOOLS[call["name"].removeprefix("rietveld__")]).bind(None, **call["input"])


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_is_the_one_that_was_tried(agent):
    assert changed(agent, [exchange(path) for path in (FOLDER / agent).rglob("*.json")]) is None


def test_the_recorded_exchanges_stay_small():
    assert sum(path.stat().st_size for path in FILES) < MOST_BYTES
