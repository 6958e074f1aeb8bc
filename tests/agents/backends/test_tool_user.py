"""A rule of thumb that uses tools: the same conversation, budget, audit and replay as a model."""

import pytest

from sophron.agents.documents.answers import AgentError
from sophron.agents.documents.redact import Redactor
from sophron.agents.gateway.audit import Audit
from sophron.agents.gateway.backends.replay import Replay
from sophron.agents.gateway.backends.rule_based_backend import Heuristic
from sophron.agents.gateway.gateway import Gateway, load_catalogue
from sophron.agents.gateway.ledger import Cap, Caps, Ledger
from sophron.agents.step.conversation import converse
from sophron.interfaces.model_backend import Message, Request, Text, Tool, ToolAnswer
from sophron.interfaces.rule_based_agent import Exchange, ToolUser, Use
from sophron.records import entry_points, files

NOTHING = Caps(Cap(0, 0, 0), Cap(0, 0, 0), Cap(0, 0, 0))
ASKED = Request("count", "counter", 1, "", (Message("user", (Text("count"),)),), {"type": "object"}, {"to": 3})


def count(inputs):
    """Doubles with a tool, two at a time, and stops at an error."""
    total = 0
    for number in range(inputs["to"]):
        first, second = yield [Use("double", {"n": number}), Use("double", {"n": total})]
        if first.is_error:
            return {"total": -1}
        total += int(first.content[0].text) + 0 * int(second.content[0].text)
    return {"total": total}


class Doubler:
    """Tools; `broken` makes it fail."""

    tools = [Tool("double", "doubles", {"type": "object"})]  # noqa: RUF012

    def __init__(self, broken=False):
        self.broken, self.calls = broken, []

    def call(self, call):
        self.calls.append(dict(call.arguments))
        return ToolAnswer(call.id, (Text(str(2 * call.arguments["n"])),), is_error=self.broken)


@pytest.fixture(autouse=True)
def _registered(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    known = {"counter": ToolUser(count), "heuristic": Heuristic, "replay": Replay}
    monkeypatch.setattr(entry_points, "load", lambda group, name: known[name])


def asker(root, backend="heuristic"):
    gateway = Gateway(load_catalogue(root), Ledger(root, NOTHING), Audit(root, Redactor()), backend=backend)
    return lambda request: gateway.ask(request, rank=1, role="work")


def test_it_uses_tools_and_then_answers(tmp_path):
    tools = Doubler()
    answered = converse(ASKED, asker(tmp_path), lambda answer: [], tools=tools, most_calls=9)
    assert answered.answer == {"total": 0 + 2 + 4}
    assert (answered.backend, answered.calls) == ("heuristic", 4)
    assert tools.calls == [{"n": 0}, {"n": 0}, {"n": 1}, {"n": 0}, {"n": 2}, {"n": 2}]
    audit = files.read_json_lines(tmp_path / "records" / "count" / "audit.jsonl")[0]
    assert [one["response"]["stop"] for one in audit] == ["tool", "tool", "tool", "end"]


def test_a_tool_that_fails_is_told_to_it(tmp_path):
    answered = converse(ASKED, asker(tmp_path), lambda answer: [], tools=Doubler(broken=True), most_calls=9)
    assert answered.answer == {"total": -1}


def test_one_that_cannot_go_on_from_what_its_tools_said_declines(tmp_path, monkeypatch):
    def stuck(_):
        yield [Use("double", {"n": 1})]
        raise ValueError("nothing comes of it")

    known = {"counter": ToolUser(stuck), "heuristic": Heuristic}
    monkeypatch.setattr(entry_points, "load", lambda group, name: known[name])
    with pytest.raises(AgentError, match="nothing comes of it") as caught:
        converse(ASKED, asker(tmp_path), lambda answer: [], tools=Doubler(), most_calls=9)
    assert caught.value.kind == "refusal"


def test_its_budget_of_calls_holds(tmp_path):
    with pytest.raises(AgentError, match="beyond its limit of 2 calls"):
        converse(ASKED, asker(tmp_path), lambda answer: [], tools=Doubler(), most_calls=2)


def test_a_replay_gives_the_same_answer_through_the_same_tools(tmp_path):
    first = converse(ASKED, asker(tmp_path), lambda answer: [], tools=Doubler(), most_calls=9)
    tools = Doubler()
    again = converse(ASKED, asker(tmp_path, "replay"), lambda answer: [], tools=tools, most_calls=9)
    assert again == first
    assert len(tools.calls) == 6
    with pytest.raises(AgentError, match="holds no answer to this request"):
        converse(ASKED, asker(tmp_path, "replay"), lambda answer: [], tools=Doubler(broken=True), most_calls=9)


def test_exchanges_that_it_would_not_have_led_are_refused():
    rule = ToolUser(count)
    assert rule.proceed({"to": 0}, []) == {"total": 0}
    strange = Exchange((Use("double", {"n": 7}),), (ToolAnswer("1", (Text("14"),)),))
    with pytest.raises(ValueError, match="would have led"):
        rule.proceed({"to": 3}, [strange])
