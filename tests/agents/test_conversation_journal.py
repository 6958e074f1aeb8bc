"""A conversation that a kill interrupted goes on: no turn is asked and no tool called a second time."""

import json

import pytest

from sophron.agents.documents.answers import AgentError
from sophron.agents.step import agent_step
from sophron.agents.step.agent_step import AgentStep
from sophron.agents.step.conversation_journal import INTERRUPTED, NAME
from sophron.campaign.planning import campaign_agents
from sophron.interfaces.model_backend import Response, Text, Tool, ToolAnswer, ToolCall, Usage

ANSWER = json.dumps({"status": "done", "summary": "It is there.", "reason": ""})


class Killed(BaseException):
    """The process died here."""


class Tools:
    """Counts its calls; dies in those that are named."""

    tools = [Tool("task_shell", "runs", {"type": "object"})]  # noqa: RUF012

    def __init__(self, scratch, dies_in=()):
        self.scratch, self.dies_in, self.calls = scratch, dies_in, []

    def call(self, call):
        self.calls.append(call.arguments["line"])
        if call.arguments["line"] in self.dies_in:
            raise Killed
        return ToolAnswer(call.id, (Text(f"ran {call.arguments['line']}"),))

    def finish(self):
        for name in ("work.tar", "manifest.json", "tool_calls.jsonl"):
            (self.scratch / name).write_text("left")


def step(root):
    agent = campaign_agents.find_agent(None, "task-worker")
    told = {"task": "Do it.", "place": {}, "attempts": [], "memory": ""}
    (root / "desk.json").write_text("{}")
    made = AgentStep(root, "work_fit-1", agent, "0" * 64, {**told, "desk": root / "desk.json"}, root / "answer.json")
    made.scratch.mkdir(parents=True, exist_ok=True)
    return made


def script(*turns):
    """Each turn is the lines of its calls, an answer, or an exception."""
    asked = []

    def ask(request):
        asked.append(request)
        turn = turns[request.turn - 1]
        if isinstance(turn, BaseException):
            raise turn
        if isinstance(turn, str):
            return Response((Text(turn),), "end", Usage(), "scripted", "scripted")
        calls = tuple(ToolCall(f"{request.turn}-{line}", "task_shell", {"line": line}) for line in turn)
        return Response(calls, "tool", Usage(), "scripted", "scripted")

    ask.asked = asked
    return ask


def run(made, ask, tools):
    agent_step.run(made, ask, tools=tools, finish=tools.finish)


def shown(request):
    return [
        part.content[0].text for message in request.messages for part in message.parts if isinstance(part, ToolAnswer)
    ]


def test_what_was_answered_before_a_kill_is_neither_asked_nor_done_again(tmp_path):
    made = step(tmp_path)
    first = Tools(made.scratch)
    with pytest.raises(Killed):
        run(made, script(["a", "b"], ["c"], Killed()), first)
    again, tools = script(["no"], ["no"], ["d"], ANSWER), Tools(made.scratch)
    run(made, again, tools)
    assert (first.calls, tools.calls) == (["a", "b", "c"], ["d"])
    assert [one.turn for one in again.asked] == [3, 4]
    assert shown(again.asked[-1]) == ["ran a", "ran b", "ran c", "ran d"]
    assert json.loads(made.answer.read_text())["answer"]["status"] == "done"


def test_a_call_that_a_kill_interrupted_is_not_repeated_and_the_model_hears_of_it(tmp_path):
    made = step(tmp_path)
    with pytest.raises(Killed):
        run(made, script(["a", "b"]), Tools(made.scratch, dies_in=["b"]))
    again, tools = script(["no"], ANSWER), Tools(made.scratch)
    run(made, again, tools)
    assert tools.calls == []
    assert shown(again.asked[-1]) == ["ran a", INTERRUPTED]


def test_a_model_that_stops_answering_ends_nothing(tmp_path):
    made = step(tmp_path)
    with pytest.raises(AgentError, match="nobody"):
        run(made, script(["a"], AgentError("unavailable", "nobody is there")), Tools(made.scratch))
    assert (made.folder / NAME).is_file()
    again, tools = script(["no"], ANSWER), Tools(made.scratch)
    run(made, again, tools)
    assert tools.calls == []


def test_another_agent_or_task_begins_anew_in_an_empty_folder(tmp_path):
    made = step(tmp_path)
    with pytest.raises(Killed):
        run(made, script(["a"], Killed()), Tools(made.scratch))
    (made.scratch / "tree").mkdir()
    other = AgentStep(made.root, made.step, made.agent, "1" * 64, made.inputs, made.answer)
    tools = Tools(made.scratch)
    run(other, script(["x"], ANSWER), tools)
    assert tools.calls == ["x"]
    assert not (made.scratch / "tree").exists()
    assert len(list(made.folder.glob("conversation-*.jsonl"))) == 2


def test_what_was_answered_is_kept_and_not_asked_again(tmp_path):
    made = step(tmp_path)
    run(made, script(ANSWER), Tools(made.scratch))
    run(made, script(Killed()), Tools(made.scratch))


def test_a_worker_without_calls_left_leaves_what_it_has(tmp_path):
    made = step(tmp_path)
    made = AgentStep(**{**vars(made), "may_fail": True})
    run(made, script(*[["a"]] * 200), Tools(made.scratch))
    kept = json.loads(made.answer.read_text())
    assert "beyond its limit of 80 calls" in kept["failure"]["reason"]
    assert made.answer.with_name("work.tar").read_text() == "left"
