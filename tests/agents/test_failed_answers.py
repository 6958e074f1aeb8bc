"""An agent whose failure its loop judges: what it did wrong is kept in the place of an answer; an outage is not."""

import json
from dataclasses import replace

import pytest

from sophron.agents.documents.answers import AgentError
from sophron.agents.step import agent_step
from sophron.campaign.planning import campaign_agents
from sophron.interfaces.model_backend import Response, Text, ToolCall, Usage
from sophron.records import documents

KEEPER = """\
---
name: keeper
role: work
rank: 2
output: judge-screen
inputs:
  sample: {kind: json, about: "What it is about."}
tools: [write_file]
keeps: {trajectory: session/trajectory.json}
limits: {calls: 3, tokens: 10000, dollars: 1, seconds: 60, max_tokens: 1000}
---
Look at {{ sample }}.
"""


@pytest.fixture
def work(tmp_path):
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "keeper.md").write_text(KEEPER)
    agent = campaign_agents.find_agent(tmp_path, "keeper")
    answer = tmp_path / "results" / "answer.json"
    return agent_step.AgentStep(tmp_path, "keeping", agent, "d" * 64, {"sample": 1}, answer, may_fail=True)


def says(text, stop="end"):
    return Response((Text(text),), stop, Usage(), "scripted", "stand-in")


def left(work):
    found = documents.load_json(work.answer)
    documents.validate(documents.Document(found, work.answer), "agent-answer")
    return found, work.answer.with_name("trajectory.json").read_text()


def test_an_answer_that_never_fits_is_a_kept_failure(work):
    asked = []

    def ask(request):
        asked.append(request)
        return says("I would rather tell a story.")

    agent_step.run(work, ask)
    found, trajectory = left(work)
    assert found["failure"]["kind"] == "invalid_answer"
    assert (found["backend"], found["model"], trajectory) == ("scripted", "stand-in", "")
    assert "answer" not in found
    agent_step.run(work, ask)
    assert len(asked) == 2  # the answer and its repair; the second run takes what is kept


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ([says("no", "refusal")], "refusal"),
        ([says("{", "length")], "too_long"),
        ([Response((ToolCall("1", "write_file", {}),), "tool", Usage(), "scripted", "stand-in")] * 9, "tool"),
        ([says(json.dumps({"passed": True, "reasons": []}))], "tool"),  # a sound answer, and no trajectory
    ],
)
def test_whatever_an_agent_does_wrong_is_a_failure_of_its_kind(work, answers, kind):
    left_over = list(answers)
    agent_step.run(work, lambda _: left_over.pop(0))
    assert left(work)[0]["failure"]["kind"] == kind


def test_what_tools_wrote_before_it_failed_is_kept(work):
    (work.scratch / "session").mkdir(parents=True)
    (work.scratch / "session" / "trajectory.json").write_text('{"calls": []}')
    agent_step.run(work, lambda _: says("no", "refusal"))
    assert left(work)[1] == '{"calls": []}'


def test_an_agent_that_was_not_reached_did_not_fail(work):
    def away(_):
        raise AgentError("unavailable", "nobody answers")

    with pytest.raises(AgentError, match="nobody answers"):
        agent_step.run(work, away)
    assert not work.answer.exists()

    def cut_off(request):
        if request.turn > 1:
            raise AgentError("budget", "the cap is reached")
        return says("a story")

    with pytest.raises(AgentError, match="the cap is reached"):
        agent_step.run(work, cut_off)
    assert not work.answer.exists()


def test_elsewhere_a_failure_stays_one(work):
    with pytest.raises(AgentError, match="no valid answer"):
        agent_step.run(replace(work, may_fail=False), lambda _: says("a story"))
